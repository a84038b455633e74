import { groupIndices, mean } from "../reward_statistics.ts";

/**
 * What receives one advantage: a rollout, or, in sample-level comparisons, one row of a rollout.
 */
export interface ScoredUnit {
  /** Units of one group (rollouts of one task) are compared with each other. */
  group: string;
  reward: number;
  /** Sampled tokens of the unit: what it weighs in token-weighted baselines and whitening. */
  tokens: number;
  /** Reward of the greedy rollout of the same task; ReMax only. */
  baseline?: number;
}

/** One advantage estimator over scalar rewards: units (N) -> advantages (N) in the same order, float64. */
export interface AdvantageEstimator<Options extends object> {
  name: string;
  defaults: Readonly<Options>;
  /** Values that options of type string may take. */
  choices: { readonly [Key in keyof Options as Options[Key] extends string ? Key : never]: readonly Options[Key][] };
  /** What a unit's returns are, where they are not its advantages: its reward, of which a baseline or scale is taken. */
  returns?: "reward";
  estimate(units: readonly ScoredUnit[], options: Readonly<Options>): Float64Array;
}

/** What a group of one gets. */
export interface SingleOptions {
  /** "zero": nothing to compare with, so 0. "reward": a baseline of 0 and a deviation of 1, as verl does. */
  single: "zero" | "reward";
}

/** Choices of `single`. */
export const singleChoices: { readonly single: readonly SingleOptions["single"][] } = { single: ["zero", "reward"] };

/** Runs `estimate(rewards, members)` on each group and puts its results back in the units' order. */
export function perGroup(
  units: readonly ScoredUnit[],
  estimate: (rewards: readonly number[], members: readonly ScoredUnit[]) => ArrayLike<number>,
): Float64Array {
  const out = new Float64Array(units.length);
  for (const indices of groupIndices(units.map((u) => u.group)).values()) {
    const members = indices.map((i) => units[i] as ScoredUnit);
    const values = estimate(
      members.map((m) => m.reward),
      members,
    );
    indices.forEach((i, k) => {
      out[i] = values[k] as number;
    });
  }
  return out;
}

/** Rewards minus their mean; exactly 0 when all are equal. A group of one follows `single`. */
export function centred(rewards: readonly number[], single: SingleOptions["single"]): number[] {
  if (rewards.length === 1) return single === "zero" ? [0] : [...rewards];
  const m = mean(rewards);
  return rewards.map((r) => r - m);
}
