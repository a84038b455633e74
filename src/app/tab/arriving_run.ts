import { FormatError, LeydenError } from "../../core/errors.ts";
import { parseConfig, parseShape } from "../../experiment/config.ts";
import { configChanges } from "../../experiment/config_changes.ts";
import { type Checkpoint, RunFolder } from "../../experiment/run_folder.ts";
import { memoryFiles } from "../../platform/memory_files.ts";
import type { ExperimentConfig } from "../../schema/experiment.ts";
import type { Files } from "../../schema/files.ts";
import { offeredExperiments } from "./experiments.ts";
import { bytesOf, type Folder, textOf } from "./folder_archive.ts";
import type { RunFacts } from "./tab_messages.ts";
import { recordName } from "./tab_record.ts";

/** What the agents of a configuration are, and what they are given. */
function agentOf({ task, rollout }: ExperimentConfig): string {
  const [program = "", script = ""] = rollout.command;
  return JSON.stringify([task.dataset, program, script, rollout.stdin ?? null]);
}

/**
 * Id of the experiment that a configuration is of: the one with the same agent from which it departs in the fewest values;
 * null where none has that agent, or two are as near.
 */
export function recognisedExperiment(config: ExperimentConfig): string | null {
  const near = offeredExperiments
    .map(({ id, config: own }) => ({ id, own: parseConfig(own) }))
    .filter(({ own }) => agentOf(own) === agentOf(config))
    .map(({ id, own }) => ({ id, changes: configChanges(own, config).length }))
    .sort((a, b) => a.changes - b.changes);
  const [first, second] = near;
  return first === undefined || first.changes === second?.changes ? null : first.id;
}

const advice = { do: "Choose the folder that leyden train --out named, or a zip of it." };
/** Folder of a run's checkpoints. */
const checkpoints = "checkpoints";

/** The configuration in a run's folder. @throws FormatError "run_folder" saying what the folder is instead */
export async function runConfigOf(folder: Folder): Promise<ExperimentConfig> {
  if (folder[recordName] !== undefined) {
    throw new FormatError("run_folder", "This is one checkpoint, not a whole run.", {
      do: 'Bring it with "Import a checkpoint".',
    });
  }
  if (folder["config.json"] === undefined) {
    throw new FormatError("run_folder", "The folder holds no run: it has no config.json.", advice);
  }
  return parsedConfig(await textOf(folder["config.json"]), "config.json");
}

/** A run's configuration in a text. @throws FormatError "run_folder" naming what is wrong with it */
export function parsedConfig(text: string, name: string): ExperimentConfig {
  try {
    return parseShape(JSON.parse(text));
  } catch (cause) {
    // Of a configuration with unknown keys, which these are.
    const why = cause instanceof LeydenError ? ` ${cause.message}` : "";
    const message = `The folder holds no run: its ${name} is no experiment's configuration.${why}`;
    throw new FormatError("run_folder", message, { ...advice, cause });
  }
}

/**
 * The update after which the newest checkpoint of a run's folder was taken, read as a start reads it; 0 without any.
 * @throws FormatError "checkpoint_damaged", "run_folder"
 */
export async function newestUpdate(folder: Folder): Promise<number> {
  const files = memoryFiles();
  if (folder[checkpoints] !== undefined) {
    throw new FormatError("run_folder", "The folder holds no run: its checkpoints are a file.", advice);
  }
  for (const [path, file] of Object.entries(folder)) {
    if (!path.startsWith(`${checkpoints}/`)) continue;
    // Of the weights only that they are there: they are as large as the model.
    await files.write(`/${path}`, path.endsWith("/state.json") ? await bytesOf(file) : new Uint8Array());
  }
  const newest = await new RunFolder(files, "/").latestCheckpoint();
  if (newest === null) return 0;
  const { update } = newest.state;
  const fault = await checkpointFault(files, newest);
  if (fault === null) return update;
  throw new FormatError("checkpoint_damaged", `The checkpoint ${newest.folder} ${fault}.`, {
    do: "Remove that folder, or choose a copy that is whole.",
  });
}

/** What keeps a checkpoint whose state can be read from being one; null when nothing does. */
async function checkpointFault(files: Files, { folder, state }: Checkpoint): Promise<string | null> {
  const names = [`step_${state.update}`, `step_${state.update}.part`];
  if (!names.some((name) => folder === `/${checkpoints}/${name}`)) return `is of update ${state.update}`;
  const hasWeights = (await files.list(folder)).some(({ name }) => name.endsWith(".safetensors"));
  return hasWeights ? null : "has no weights";
}

/** What the files of a run tell. @throws FormatError "run_folder", "checkpoint_damaged" */
export async function arrivingRun(folder: Folder): Promise<RunFacts> {
  const config = await runConfigOf(folder);
  const update = await newestUpdate(folder);
  return { experiment: recognisedExperiment(config), update, updates: config.train.updates };
}
