import { asLeydenError, FormatError } from "../../core/errors.ts";
import { readRunConfig } from "../../experiment/config.ts";
import { freshRunState, RunFolder } from "../../experiment/run_folder.ts";
import type { ExperimentConfig } from "../../schema/experiment.ts";
import type { Files } from "../../schema/files.ts";
import { type ExperimentChoice, idleRun, type RunFault, type RunStatus } from "../../schema/run_control.ts";
import type { Store } from "../../schema/store.ts";
import { type TabExperiment, tabExperiment } from "./experiments.ts";
import { placedConfig } from "./tab_config.ts";
import type { TabParts } from "./tab_parts.ts";
import { runFolderOf, storePathOf } from "./tab_places.ts";
import type { TabRecord } from "./tab_record.ts";
import { openTabStore } from "./tab_run_host.ts";

/** What is there of the last run when none is at work. */
export interface LeftRun {
  readonly experiment: TabExperiment | null;
  readonly config: ExperimentConfig | null;
  /** Its records, opened; the caller closes them. */
  readonly viewed: Store | null;
  readonly rest: RunStatus;
}

/** The configuration of an experiment's run; null where none is kept. @throws FormatError "run_config" */
export async function keptConfig(files: Files, { id }: TabExperiment): Promise<ExperimentConfig | null> {
  try {
    return await readRunConfig(files, runFolderOf(id));
  } catch (cause) {
    const fix = { do: "Delete the run in the section Model, or start a new one.", cause };
    throw new FormatError("run_config", `The configuration of the run of ${id} cannot be read.`, fix);
  }
}

/**
 * Whether an experiment's run can be continued, and what it goes on with; one that cannot be read says so when it is asked
 * to.
 */
export async function keptChoice(
  files: Files,
  experiment: TabExperiment,
): Promise<Pick<ExperimentChoice, "resumable" | "kept">> {
  const folder = runFolderOf(experiment.id);
  const resumable = await new RunFolder(files, folder).exists();
  const kept = await readRunConfig(files, folder).catch(() => null);
  return kept === null ? { resumable } : { resumable, kept: placedConfig(kept, experiment) };
}

/** Why a run is not at work whose page went away while it was being opened. */
export function cutOffFault(experiment: string, opening: "new" | "kept"): RunFault {
  const message = `The page was left while the run of ${experiment} was being opened: it was not started again.`;
  const button = opening === "new" ? "Start" : "Continue the last run";
  return { code: "opening_cut_off", message, do: `Press "${button}" to try it again.` };
}

/** What the last run left; of one that cannot be read only why, so that the page opens and it can be deleted there. */
export async function leftRun({ platform, sqlite }: TabParts, record: TabRecord | null): Promise<LeftRun> {
  const nothing = { experiment: null, config: null, viewed: null, rest: idleRun };
  if (record === null) return nothing;
  const { files } = platform;
  try {
    const experiment = tabExperiment(record.experiment);
    const config = await keptConfig(files, experiment);
    const rest = await restOf(files, experiment, config);
    const path = storePathOf(experiment.id);
    const viewed = sqlite.exists(path) ? await openTabStore(platform, sqlite, path) : null;
    return { experiment, config, viewed, rest };
  } catch (thrown) {
    const error = asLeydenError(thrown).toJSON();
    return { ...nothing, rest: { ...idleRun, phase: "failed", experiment: record.experiment, error } };
  }
}

async function restOf(files: Files, { id }: TabExperiment, config: ExperimentConfig | null): Promise<RunStatus> {
  if (config === null) return idleRun;
  const { update, version } = (await new RunFolder(files, runFolderOf(id)).latestCheckpoint())?.state ?? freshRunState;
  const { updates } = config.train;
  const phase = update >= updates ? "finished" : "stopped";
  return { ...idleRun, phase, experiment: id, update, updates, version, config };
}
