import type { Rng } from "../../core/rng.ts";
import { groupIndices, zeroVarianceGroups } from "../reward_statistics.ts";

/** How many rows go so that a whole number of mini-batches is left. */
export interface RowDropPlan {
  trained: number;
  dropped: number;
  /** Rows of groups whose rows all have one reward: they go first, in random order. */
  sameReward: number[];
  droppedSameReward: number;
  /** Taken at random among the other rows. */
  droppedRandom: number;
  /** Nothing is left to train. */
  skipStep: boolean;
  zeroVarianceGroups: string[];
}

/**
 * Plans which rows Agent Lightning drops to align the batch to `miniBatchRows`, at most `maxUpdates` mini-batches when
 * that is not null. It drops rows, not rollouts, so it can take part of a rollout; our own batches never do this.
 * Source: Agent Lightning 1.0, the training step after collection.
 */
export function planRowDrop(
  groups: readonly string[],
  rewards: readonly number[],
  miniBatchRows: number,
  maxUpdates: number | null,
): RowDropPlan {
  const whole = Math.floor(groups.length / miniBatchRows) * miniBatchRows;
  const trained = maxUpdates === null ? whole : Math.min(whole, miniBatchRows * maxUpdates);
  const dropped = groups.length - trained;
  const equal = zeroVarianceGroups(groups, rewards);
  const members = groupIndices(groups);
  const sameReward = equal.flatMap((group) => members.get(group) ?? []).sort((a, b) => a - b);
  const droppedSameReward = Math.min(dropped, sameReward.length);
  return {
    trained,
    dropped,
    sameReward,
    droppedSameReward,
    droppedRandom: dropped - droppedSameReward,
    skipStep: trained === 0,
    zeroVarianceGroups: equal,
  };
}

/** Indices of the rows that stay, in order, drawn with `rng`. */
export function keptRows(plan: RowDropPlan, rowCount: number, rng: Rng): number[] {
  const equal = new Set(plan.sameReward);
  const others = Array.from({ length: rowCount }, (_, i) => i).filter((i) => !equal.has(i));
  const gone = new Set([
    ...rng.shuffled(plan.sameReward).slice(0, plan.droppedSameReward),
    ...rng.shuffled(others).slice(0, plan.droppedRandom),
  ]);
  return Array.from({ length: rowCount }, (_, i) => i).filter((i) => !gone.has(i));
}
