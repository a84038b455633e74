import { deriveKey, Rng, seedKey } from "../core/rng.ts";
import type { TaskRow, TaskStream } from "../schema/task.ts";
import type { TrainConfig } from "../schema/train_config.ts";

/** What a sampler has seen, as a checkpoint keeps it: plain JSON. */
export interface TaskSamplerState {
  /** By task id: rollouts seen, and the sum of their rewards, each limited to 0..1. */
  seen: Record<string, [rollouts: number, successes: number]>;
  /** Stream position behind each index that is not trained yet, where it is not the index itself. */
  picks: Record<string, number>;
}

/** How many tasks compete for a place. */
const candidates = 8;

/**
 * Which task comes at which index of a run. "stream": the dataset's own order. "difficulty": of some tasks drawn at random
 * the one whose outcome is least certain, p (1 - p) with p = (successes + 1) / (rollouts + 2), so that tasks which are
 * neither always nor never solved come more often, and unseen ones soon. An endless stream of new tasks gives nothing to
 * choose by and keeps its order. Equal seeds and equal histories give equal tasks.
 */
export class TaskSampler {
  private readonly tasks: TaskStream;
  private readonly mode: TrainConfig["taskSampling"];
  private readonly seed: number;
  private readonly seen: Map<string, [number, number]>;
  private readonly picks: Map<number, number>;

  /** Goes on from what a checkpoint keeps. */
  constructor(tasks: TaskStream, mode: TrainConfig["taskSampling"], seed: number, state?: TaskSamplerState) {
    this.tasks = tasks;
    this.mode = Number.isFinite(tasks.length) ? mode : "stream";
    this.seed = seed;
    this.seen = new Map(Object.entries(state?.seen ?? {}));
    this.picks = new Map(Object.entries(state?.picks ?? {}).map(([index, at]) => [Number(index), at]));
  }

  /** The task of an index; asked again, the same one, whatever was seen in between. */
  at(index: number): TaskRow {
    if (this.mode === "stream") return this.tasks.at(index);
    const known = this.picks.get(index);
    const picked = known ?? this.pick(index);
    this.picks.set(index, picked);
    return this.tasks.at(picked);
  }

  /** What the rollouts of a task earned. */
  note(task: string, rewards: readonly number[]): void {
    if (this.mode === "stream") return;
    const [rollouts, successes] = this.seen.get(task) ?? [0, 0];
    const more = rewards.reduce((sum, r) => sum + Math.min(Math.max(r, 0), 1), 0);
    this.seen.set(task, [rollouts + rewards.length, successes + more]);
  }

  /** What has to be kept for the indices that are still to be trained; undefined where there is nothing. */
  state(untrained: readonly number[]): TaskSamplerState | undefined {
    if (this.mode === "stream") return undefined;
    const kept = untrained.flatMap((index) => {
      const at = this.picks.get(index);
      return at === undefined ? [] : [[String(index), at] as const];
    });
    return { seen: Object.fromEntries(this.seen), picks: Object.fromEntries(kept) };
  }

  private pick(index: number): number {
    const rng = new Rng(deriveKey(seedKey(this.seed), "difficulty", index));
    let best = rng.below(this.tasks.length);
    let most = this.uncertainty(best);
    for (let i = 1; i < candidates; i++) {
      const at = rng.below(this.tasks.length);
      const value = this.uncertainty(at);
      if (value > most) [best, most] = [at, value];
    }
    return best;
  }

  private uncertainty(at: number): number {
    const [rollouts, successes] = this.seen.get(this.tasks.at(at).id) ?? [0, 0];
    const p = (successes + 1) / (rollouts + 2);
    return p * (1 - p);
  }
}
