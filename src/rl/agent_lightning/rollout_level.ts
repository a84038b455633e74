import { LeydenError } from "../../core/errors.ts";
import { type AdvantageConfig, estimateAdvantages } from "../advantages/registry.ts";
import { countMasked, type Numbers } from "../masked.ts";
import { type RowShare, rowWeights } from "../normalisation.ts";

/** One training row with the scalar reward of its rollout. */
export interface RewardedRow {
  rollout: string;
  group: string;
  reward: number;
  mask: Numbers;
}

/** Rollouts in first-seen order with their first row. */
function representatives(rows: readonly RewardedRow[]): Map<string, RewardedRow> {
  const first = new Map<string, RewardedRow>();
  for (const row of rows) {
    const known = first.get(row.rollout);
    if (known === undefined) {
      first.set(row.rollout, row);
      continue;
    }
    if (known.group !== row.group) {
      throw new LeydenError(
        "rollout_groups_differ",
        `Rollout ${row.rollout} has rows of groups ${known.group} and ${row.group}.`,
        {
          do: "Give every row of a rollout the group of its task.",
        },
      );
    }
    if (known.reward !== row.reward) {
      throw new LeydenError(
        "rollout_rewards_differ",
        `Rollout ${row.rollout} has rows with rewards ${known.reward} and ${row.reward}.`,
        {
          do: "Give every row of a rollout the rollout's reward, or use token-level estimators.",
        },
      );
    }
  }
  return first;
}

/**
 * One advantage per rollout, in first-seen order: the estimator sees each rollout once (its first row's tokens are its
 * length), however many rows it has.
 * @throws LeydenError when a rollout's rows differ in group or reward.  Source: Agent Lightning 1.0.
 */
export function rolloutLevelAdvantages(rows: readonly RewardedRow[], config: AdvantageConfig): Map<string, number> {
  const first = representatives(rows);
  const units = [...first.values()].map((row) => ({
    group: row.group,
    reward: row.reward,
    tokens: countMasked(row.mask),
  }));
  const values = estimateAdvantages(units, config);
  return new Map([...first.keys()].map((rollout, i) => [rollout, values[i] as number]));
}

/** The rollout's advantage on each row's masked tokens, 0 elsewhere, (B, T). */
export function broadcastAdvantages(
  rows: readonly RewardedRow[],
  advantages: ReadonlyMap<string, number>,
): Float64Array[] {
  return rows.map((row) => Float64Array.from(row.mask, (m) => (m === 0 ? 0 : (advantages.get(row.rollout) as number))));
}

/**
 * Advantages divided by max(1, tokens of the rollout * N), N the number of rows ("rows", as released) or of rollouts
 * ("rollout", the report's Eq. 16); the loss is then a plain sum, because PPO-clip is homogeneous in A. (B, T).
 * Source: Agent Lightning 1.0, per_rollout_mean.
 */
export function normalisedAdvantages(
  rows: readonly RewardedRow[],
  advantages: readonly Numbers[],
  mode: "rows" | "rollout",
): Float64Array[] {
  const shares: RowShare[] = rows.map((row) => ({
    rollout: row.rollout,
    group: row.group,
    tokens: countMasked(row.mask),
  }));
  const weights = rowWeights(shares, mode);
  return advantages.map((row, i) =>
    Float64Array.from(row, (value) => (value === 0 ? 0 : value * (weights[i] as number))),
  );
}
