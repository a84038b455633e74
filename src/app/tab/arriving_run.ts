import { FormatError } from "../../core/errors.ts";
import { parseConfig, parseShape } from "../../experiment/config.ts";
import { configChanges } from "../../experiment/config_changes.ts";
import type { ExperimentConfig } from "../../schema/experiment.ts";
import { offeredExperiments } from "./experiments.ts";
import { type Folder, textOf } from "./folder_archive.ts";
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

/** The configuration in a run's folder. @throws FormatError "run_folder" saying what the folder is instead */
export async function runConfigOf(folder: Folder): Promise<ExperimentConfig> {
  if (folder[recordName] !== undefined) {
    throw new FormatError("run_folder", "This is one checkpoint, not a whole run.", {
      do: 'Bring it with "Import a checkpoint".',
    });
  }
  const advice = { do: "Choose the folder that leyden train --out named, or a zip of it." };
  if (folder["config.json"] === undefined) {
    throw new FormatError("run_folder", "The folder holds no run: it has no config.json.", advice);
  }
  try {
    return parseShape(JSON.parse(await textOf(folder["config.json"])));
  } catch (cause) {
    const message = "The folder holds no run: its config.json is no experiment's configuration.";
    throw new FormatError("run_folder", message, { ...advice, cause });
  }
}

/** What the files of a run tell. @throws FormatError "run_folder" */
export async function arrivingRun(folder: Folder): Promise<RunFacts> {
  const config = await runConfigOf(folder);
  const steps = Object.keys(folder).map((path) =>
    Number(/^checkpoints\/step_(\d+)\/state\.json$/.exec(path)?.[1] ?? 0),
  );
  return {
    experiment: recognisedExperiment(config),
    update: steps.reduce((most, step) => Math.max(most, step), 0),
    updates: config.train.updates,
  };
}
