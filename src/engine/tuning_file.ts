import { FormatError } from "../core/errors.ts";
import { isKernelFamily, type TunedKernel } from "../gpu/capabilities.ts";
import type { DeviceOptions } from "../gpu/device_options.ts";
import type { Files } from "../schema/files.ts";

/** Kernels that measuring chose, by adapter. */
export type TuningTable = NonNullable<DeviceOptions["tuning"]>;

function pathIn(files: Files, cacheFolder: string): string {
  return files.join(cacheFolder, "tuning.json");
}

/**
 * What `leyden bench matmul --tune` has chosen on this machine; nothing where it never ran.
 * @throws FormatError "tuning_file" for a file that is no such table
 */
export async function readTuning(files: Files, cacheFolder: string): Promise<TuningTable> {
  const path = pathIn(files, cacheFolder);
  if (!(await files.exists(path))) return {};
  const text = await files.readText(path);
  try {
    const table: unknown = JSON.parse(text);
    if (isTable(table)) return table;
  } catch {
    // The error below says what to do.
  }
  throw new FormatError("tuning_file", `${path} is no table of tuned kernels.`, {
    do: "Delete it, and run leyden bench matmul --tune to make a new one.",
  });
}

/** Replaces an adapter's entry. @throws FormatError as `readTuning` */
export async function writeTuning(
  files: Files,
  cacheFolder: string,
  key: string,
  kernels: readonly TunedKernel[],
): Promise<string> {
  const table = { ...(await readTuning(files, cacheFolder)), [key]: kernels };
  const path = pathIn(files, cacheFolder);
  await files.write(path, `${JSON.stringify(table, null, 2)}\n`);
  return path;
}

function isTable(value: unknown): value is TuningTable {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  return Object.values(value).every((kernels) => Array.isArray(kernels) && kernels.every(isTuned));
}

function isTuned(value: unknown): value is TunedKernel {
  if (typeof value !== "object" || value === null) return false;
  const { operation, fromRows, family } = value as Record<string, unknown>;
  return (
    typeof operation === "string" &&
    typeof fromRows === "number" &&
    typeof family === "string" &&
    isKernelFamily(family)
  );
}
