import { mkdirSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

/** What choosing the folders depends on. */
export interface FolderFacts {
  platform: NodeJS.Platform;
  home: string;
  variables: Readonly<Record<string, string | undefined>>;
  /** Vectors of 512 bits in hardware (AVX-512). */
  wideVectors?: boolean;
}

/** Where things that may be made again are kept: LEYDEN_CACHE, else "leyden" in the user's cache folder. */
export function cacheFolderFor({ platform, home, variables }: FolderFacts): string {
  if (variables.LEYDEN_CACHE) return variables.LEYDEN_CACHE;
  if (platform === "win32") return join(variables.LOCALAPPDATA ?? join(home, "AppData", "Local"), "leyden", "cache");
  if (platform === "darwin") return join(home, "Library", "Caches", "leyden");
  return join(variables.XDG_CACHE_HOME || join(home, ".cache"), "leyden");
}

/**
 * The variables a Vulkan driver wants and that are not set yet, folders all: a cache for compiled shaders (software
 * drivers compile for seconds otherwise) and a runtime folder (loaders complain without one).
 */
export function driverFolders({ platform, home, variables }: FolderFacts): Record<string, string> {
  if (platform !== "linux") return {};
  const cache = cacheFolderFor({ platform, home, variables });
  const out: Record<string, string> = {};
  if (!variables.MESA_SHADER_CACHE_DIR) out.MESA_SHADER_CACHE_DIR = join(cache, "mesa");
  if (!variables.XDG_RUNTIME_DIR) out.XDG_RUNTIME_DIR = join(cache, "runtime");
  return out;
}

/**
 * Settings a Vulkan driver wants and that are not set yet. llvmpipe computes in vectors of 256 bits even where there are
 * longer ones; with 512 a training step takes three quarters of the time (test/bench/LOG.md).
 */
export function driverSettings({ platform, variables, wideVectors }: FolderFacts): Record<string, string> {
  if (platform !== "linux" || !wideVectors || variables.LP_NATIVE_VECTOR_WIDTH) return {};
  return { LP_NATIVE_VECTOR_WIDTH: "512" };
}

function facts(): FolderFacts {
  return { platform: process.platform, home: homedir(), variables: process.env, wideVectors: hasWideVectors() };
}

function hasWideVectors(): boolean {
  try {
    return /^flags\s*:.*\bavx512f\b/m.test(readFileSync("/proc/cpuinfo", "utf8"));
  } catch {
    return false;
  }
}

/** The cache folder of this user. */
export function systemCacheFolder(): string {
  return cacheFolderFor(facts());
}

/**
 * Sets the driver's variables and makes their folders. Must run in the main thread before the first use of WebGPU: a
 * worker's environment is a copy that native code does not see.
 */
export function prepareDriverEnvironment(): void {
  const known = facts();
  Object.assign(process.env, driverSettings(known));
  for (const [name, folder] of Object.entries(driverFolders(known))) {
    try {
      mkdirSync(folder, { recursive: true, mode: 0o700 });
    } catch {
      // A read-only home: the driver works without the folder, only slower and noisier.
      continue;
    }
    process.env[name] = folder;
  }
}
