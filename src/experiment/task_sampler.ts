import { ConfigError } from "../core/errors.ts";
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

/** 0 to n - 1 in random order (Fisher and Yates). */
function shuffled(n: number, rng: Rng): number[] {
  const order = Array.from({ length: n }, (_, i) => i);
  for (let i = n - 1; i > 0; i--) {
    const j = rng.below(i + 1);
    [order[i], order[j]] = [order[j] as number, order[i] as number];
  }
  return order;
}

/** How many tasks compete for a place. */
const candidates = 8;

/**
 * Which task comes at which index of a run. "stream": the dataset's own order. "difficulty": of some tasks drawn at random
 * the one whose outcome is least certain, p (1 - p) with p = (successes + 1) / (rollouts + 2), so that tasks which are
 * neither always nor never solved come more often, and unseen ones soon. An endless stream of new tasks gives nothing to
 * choose by and keeps its order; a finite one begins anew after its last task, every epoch after the first in a random
 * order of its own. Equal seeds and equal histories give equal tasks.
 */
export class TaskSampler {
  private readonly tasks: TaskStream;
  private readonly mode: TrainConfig["taskSampling"];
  private readonly seed: number;
  private readonly seen: Map<string, [number, number]>;
  private readonly picks: Map<number, number>;
  /** Orders of the epochs asked for last: groups at work at once may lie in two. */
  private readonly orders = new Map<number, number[]>();

  /** Goes on from what a checkpoint keeps. @throws ConfigError when there are no tasks */
  constructor(tasks: TaskStream, mode: TrainConfig["taskSampling"], seed: number, state?: TaskSamplerState) {
    if (tasks.length === 0) {
      throw new ConfigError(`The dataset has no training tasks: train(${seed}) has length 0.`, {
        do: "Give it tasks, or leave its length out where it makes them without end.",
      });
    }
    this.tasks = tasks;
    this.mode = Number.isFinite(tasks.length) ? mode : "stream";
    this.seed = seed;
    this.seen = new Map(Object.entries(state?.seen ?? {}));
    this.picks = new Map(Object.entries(state?.picks ?? {}).map(([index, at]) => [Number(index), at]));
  }

  /** The task of an index; asked again, the same one, whatever was seen in between. */
  at(index: number): TaskRow {
    if (this.mode === "stream") return this.tasks.at(this.inEpoch(index));
    const known = this.picks.get(index);
    const picked = known ?? this.pick(index);
    this.picks.set(index, picked);
    return this.tasks.at(picked);
  }

  /** The task of an index as far as it is settled; null where it depends on what is still to be seen. */
  settled(index: number): TaskRow | null {
    return this.mode === "stream" || this.picks.has(index) ? this.at(index) : null;
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

  /** The stream's position at an index, which in a finite stream lies in some epoch. */
  private inEpoch(index: number): number {
    const { length } = this.tasks;
    if (index < length) return index;
    const epoch = Math.floor(index / length);
    let order = this.orders.get(epoch);
    if (order === undefined) {
      order = shuffled(length, new Rng(deriveKey(seedKey(this.seed), "epoch", epoch)));
      this.orders.delete(epoch - 2);
      this.orders.set(epoch, order);
    }
    return order[index % length] ?? 0;
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
