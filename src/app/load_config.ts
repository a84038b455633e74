import { pathToFileURL } from "node:url";
import { asLeydenError, ConfigError } from "../core/errors.ts";
import { parseConfig, withOverrides } from "../experiment/config.ts";
import type { ExperimentConfig } from "../schema/experiment.ts";
import type { Files } from "../schema/files.ts";

/** A configuration with the folder its relative paths start from. */
export interface LoadedConfig {
  readonly config: ExperimentConfig;
  readonly folder: string;
}

const fileNames = ["leyden.config.ts", "leyden.config.js", "config.json"];

/** Imports a module by its path. @throws ConfigError when it is not there, has a fault or throws */
export async function importModule(files: Files, path: string): Promise<Record<string, unknown>> {
  try {
    return (await import(pathToFileURL(files.absolute(path)).href)) as Record<string, unknown>;
  } catch (cause) {
    throw new ConfigError(`${path} could not be loaded: ${asLeydenError(cause).message}`, {
      do: "Correct the module or its path.",
      cause,
    });
  }
}

/**
 * Reads a configuration: a .json file, a module with a default export, or a folder that holds one of them.
 * `overrides` are "section.key=value".
 * @throws ConfigError when there is none or it has faults; FormatError "file_missing"
 */
export async function loadConfig(files: Files, path: string, overrides: readonly string[] = []): Promise<LoadedConfig> {
  const file = await findFile(files, path);
  const input = file.endsWith(".json") ? readJson(file, await files.readText(file)) : await readModule(files, file);
  return { config: parseConfig(withOverrides(input, overrides)), folder: files.join(file, "..") };
}

async function findFile(files: Files, path: string): Promise<string> {
  if (/\.(json|ts|js|mjs)$/.test(path)) return path;
  for (const name of fileNames) {
    const candidate = files.join(path, name);
    if (await files.exists(candidate)) return candidate;
  }
  throw new ConfigError(`${path} holds no configuration.`, {
    do: `Pass a file, or a folder with one of ${fileNames.join(", ")}.`,
  });
}

function readJson(file: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new ConfigError(`${file} is not JSON: ${(cause as Error).message}.`, { do: "Correct it.", cause });
  }
}

async function readModule(files: Files, file: string): Promise<unknown> {
  const { default: input } = await importModule(files, file);
  if (input !== undefined) return input;
  throw new ConfigError(`${file} has no default export.`, { do: "Write: export default defineExperiment({ … });" });
}
