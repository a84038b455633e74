import { FormatError } from "../core/errors.ts";
import { attemptFolder } from "../rollout/outcome.ts";
import type { ExperimentConfig } from "../schema/experiment.ts";
import type { Files } from "../schema/files.ts";
import { areHashes, type CheckpointHashes, checkHashes, hashesOf } from "./checkpoint_hashes.ts";
import type { TaskSamplerState } from "./task_sampler.ts";

/** Where a run stands at a checkpoint: with the store's events after `storeSeq`, everything that is needed to go on. */
export interface RunState {
  format: 1;
  /** Updates finished, and the policy's version after them (skipped steps make them differ). */
  update: number;
  version: number;
  optimizerSteps: number;
  /** Index of the next task in the stream. */
  cursor: number;
  /** Stream indices of groups that were started and not trained yet, oldest first. */
  carryOver: number[];
  /** Update after which each of these was started; absent: this one. */
  startedAt?: number[];
  /** Last event of the store that this state includes. */
  storeSeq: number;
  configSha256: string;
  weightsSha256: string;
  /** Hashes of the checkpoint's files; absent in those of before there were any. */
  files?: CheckpointHashes;
  /** What tasks are sampled by; absent where they come in the dataset's order. */
  tasks?: TaskSamplerState;
  /** The KL's coefficient that its controller has come to; absent where it is fixed. */
  klCoef?: number;
  /** Mean reward of the last update and of the last validation. */
  reward?: number | null;
  validation?: number | null;
}

/** Where a run stands that has not begun, but for its configuration. */
export const freshRunState: Omit<RunState, "configSha256"> = {
  format: 1,
  update: 0,
  version: 0,
  optimizerSteps: 0,
  cursor: 0,
  carryOver: [],
  storeSeq: 0,
  weightsSha256: "",
};

/** A checkpoint on disk. */
export interface Checkpoint {
  readonly folder: string;
  readonly state: RunState;
}

/** One line of metrics.jsonl. */
export type MetricsLine = Record<string, number | string | null>;

/** What a loop writes of its run. */
export type RunWriter = Pick<RunFolder, "appendMetrics" | "writeCheckpoint" | "pruneCheckpoints">;

/** The files of one run: config.json, metrics.jsonl, store.sqlite, checkpoints/step_N, attempts, result.json. */
export class RunFolder {
  readonly path: string;
  private readonly files: Files;
  /** Throws when the folder is no longer ours to write. */
  private readonly checkHold: () => void;

  constructor(files: Files, path: string, checkHold: () => void = () => {}) {
    this.files = files;
    this.path = path;
    this.checkHold = checkHold;
  }

  /** Path of something inside the run. */
  at(...names: string[]): string {
    return this.files.join(this.path, ...names);
  }

  /** Writes the configuration the run uses. */
  async writeConfig(config: ExperimentConfig): Promise<void> {
    this.checkHold();
    await this.files.write(this.at("config.json"), `${JSON.stringify(config, null, 2)}\n`);
  }

  /** True when a run was started here. */
  exists(): Promise<boolean> {
    return this.files.exists(this.at("config.json"));
  }

  async appendMetrics(line: MetricsLine): Promise<void> {
    this.checkHold();
    await this.files.append(this.at("metrics.jsonl"), `${JSON.stringify(line)}\n`);
  }

  async writeResult(result: unknown): Promise<void> {
    this.checkHold();
    await this.files.write(this.at("result.json"), `${JSON.stringify(result, null, 2)}\n`);
  }

  /** What an attempt's agent wrote to stderr; empty where nothing was kept. */
  async errorsOf(rolloutId: string, attemptId: string): Promise<string> {
    const path = this.files.join(attemptFolder(this.files, this.path, rolloutId, attemptId), "stderr.log");
    return (await this.files.exists(path)) ? this.files.readText(path) : "";
  }

  /** Drops metrics of updates after `update`, which a resumed run computes again, and a torn last line. */
  async truncateMetrics(update: number): Promise<void> {
    this.checkHold();
    const path = this.at("metrics.jsonl");
    if (!(await this.files.exists(path))) return;
    const kept = (await this.files.readText(path)).split("\n").filter((line) => {
      const step = stepOf(line);
      return step !== null && step <= update;
    });
    await this.files.write(path, kept.map((line) => `${line}\n`).join(""));
  }

  /** Writes checkpoints/step_N completely or not at all: to a folder beside it, flushed, then renamed. */
  async writeCheckpoint(state: RunState, files: Readonly<Record<string, Uint8Array>>): Promise<string> {
    const target = this.at("checkpoints", `step_${state.update}`);
    const part = this.partOf(state.update);
    this.checkHold();
    await this.files.remove(part);
    // Hashing and writing take about as long, one of a processor and the other of the disk.
    const [hashes] = await Promise.all([hashesOf(files), this.writeAll(part, files)]);
    const whole: RunState = { ...state, files: hashes };
    await this.files.write(this.files.join(part, "state.json"), `${JSON.stringify(whole, null, 2)}\n`);
    this.checkHold();
    await this.files.remove(target);
    await this.files.rename(part, target);
    return target;
  }

  private async writeAll(folder: string, files: Readonly<Record<string, Uint8Array>>): Promise<void> {
    for (const [name, bytes] of Object.entries(files)) await this.files.write(this.files.join(folder, name), bytes);
  }

  /** Removes all but the newest `keep` checkpoints, and what writing older ones has left behind. */
  async pruneCheckpoints(keep: number): Promise<void> {
    this.checkHold();
    const steps = await this.checkpointSteps();
    const kept = steps.splice(Math.max(0, steps.length - keep));
    for (const step of steps) {
      await this.files.remove(this.at("checkpoints", `step_${step}`));
      await this.files.remove(this.partOf(step));
    }
    const newest = kept.at(-1) ?? 0;
    for (const step of await this.stepsNamed(/^step_(\d+)\.part$/)) {
      const isRead = kept.includes(step) && (await this.folderOf(step)) === this.partOf(step);
      if (step < newest && !isRead) await this.files.remove(this.partOf(step));
    }
  }

  /**
   * The newest checkpoint, or null when there is none.
   * @throws FormatError "checkpoint_damaged" when its state cannot be read
   */
  async latestCheckpoint(): Promise<Checkpoint | null> {
    const step = (await this.checkpointSteps()).at(-1);
    if (step === undefined) return null;
    const folder = await this.folderOf(step);
    try {
      const state: unknown = JSON.parse(await this.files.readText(this.files.join(folder, "state.json")));
      if (isRunState(state)) return { folder, state };
    } catch (cause) {
      throw damaged(folder, cause);
    }
    throw damaged(folder, undefined);
  }

  /** @throws FormatError "checkpoint_damaged" when a file of the checkpoint is not as it was saved */
  async checkFiles({ folder, state }: Checkpoint): Promise<void> {
    await checkHashes(this.files, folder, state.files ?? {});
  }

  /** True when there is a checkpoint, whole or not. */
  async hasCheckpoint(): Promise<boolean> {
    return (await this.checkpointSteps()).length > 0;
  }

  /** Where a checkpoint is written before it has its name. */
  private partOf(step: number): string {
    return this.at("checkpoints", `step_${step}.part`);
  }

  /**
   * The folder with a step's checkpoint. A browser renames by copying and then removing. Where the copy was cut off, the
   * folder that was copied from is still there, and whole, since its state is written last; where the removal was, the
   * target is whole, and has what the other has lost.
   */
  private async folderOf(step: number): Promise<string> {
    const [part, target] = [this.partOf(step), this.at("checkpoints", `step_${step}`)];
    const [left, there] = [await filesIn(this.files, part), await filesIn(this.files, target)];
    const isCutOff = left.has("state.json") && (!there.has("state.json") || [...there].every((name) => left.has(name)));
    return isCutOff ? part : target;
  }

  private checkpointSteps(): Promise<number[]> {
    return this.stepsNamed(/^step_(\d+)$/);
  }

  /** Steps by the folders whose names they are part of, in order. */
  private async stepsNamed(pattern: RegExp): Promise<number[]> {
    const folder = this.at("checkpoints");
    if (!(await this.files.exists(folder))) return [];
    const names = (await this.files.list(folder)).map((entry) => pattern.exec(entry.name)?.[1]);
    return names.flatMap((n) => (n === undefined ? [] : [Number(n)])).sort((a, b) => a - b);
  }
}

/** Paths of all files in a folder, those of its folders included; none where there is no folder. */
async function filesIn(files: Files, folder: string, prefix = ""): Promise<Set<string>> {
  if (!(await files.exists(folder))) return new Set();
  const found = (await files.list(folder)).map(async ({ name, kind }) => {
    if (kind === "file") return [`${prefix}${name}`];
    return [...(await filesIn(files, files.join(folder, name), `${prefix}${name}/`))];
  });
  return new Set((await Promise.all(found)).flat());
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

/** True for what `writeCheckpoint` wrote: what a disk or an editor made of it must not reach the loop. */
function isRunState(value: unknown): value is RunState {
  const state = value as Partial<Record<keyof RunState, unknown>> | null;
  if (state?.format !== 1) return false;
  const counts = [state.update, state.version, state.optimizerSteps, state.cursor, state.storeSeq];
  const texts = [state.configSha256, state.weightsSha256];
  const { carryOver } = state;
  return (
    counts.every(isCount) &&
    texts.every((text) => typeof text === "string") &&
    Array.isArray(carryOver) &&
    carryOver.every(isCount) &&
    (state.files === undefined || areHashes(state.files)) &&
    (state.startedAt === undefined || (Array.isArray(state.startedAt) && state.startedAt.every(isCount)))
  );
}

function stepOf(line: string): number | null {
  try {
    const step = (JSON.parse(line) as { step?: unknown }).step;
    return typeof step === "number" ? step : null;
  } catch {
    return null;
  }
}

function damaged(folder: string, cause: unknown): FormatError {
  return new FormatError("checkpoint_damaged", `The checkpoint ${folder} has no readable state.json.`, {
    do: "Remove that folder; the run then resumes from the checkpoint before it.",
    cause,
  });
}
