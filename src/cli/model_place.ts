import { FormatError } from "../core/errors.ts";
import { RunFolder } from "../experiment/run_folder.ts";
import { modelPlace } from "../io/adapter_base.ts";
import { type HfConfig, parseHfConfig } from "../io/hf_config.ts";
import { readJson } from "../io/json_file.ts";
import type { Files } from "../schema/files.ts";

/** True for a folder that `leyden train` writes to. */
export async function isRunFolder(files: Files, path: string): Promise<boolean> {
  for (const name of ["checkpoints", "store.sqlite"]) if (await files.exists(files.join(path, name))) return true;
  return false;
}

/**
 * The model folder that a path means: itself, or the newest checkpoint of a run.
 * @throws FormatError "file_missing"; "checkpoint_missing" for a run without one; "checkpoint_damaged"
 */
export async function modelFolderOf(files: Files, path: string): Promise<string> {
  if (!(await files.exists(path))) {
    throw new FormatError("file_missing", `There is no ${path}.`, {
      do: "Name a model folder, a run or a checkpoint.",
    });
  }
  if (!(await isRunFolder(files, path))) return path;
  const checkpoint = await new RunFolder(files, path).latestCheckpoint();
  if (checkpoint !== null) return checkpoint.folder;
  throw new FormatError("checkpoint_missing", `The run ${path} has no checkpoint yet.`, {
    do: "Wait for its first one, or name the model it started from.",
  });
}

/**
 * A model folder's config.json, or that of an adapter's base model.
 * @throws FormatError "file_missing" | "json" | "config_json" | "adapter_base"
 */
export async function readModelConfig(files: Files, folder: string): Promise<HfConfig> {
  const path = files.join((await modelPlace(files, folder)).base, "config.json");
  return parseHfConfig(await readJson(files, path), path);
}
