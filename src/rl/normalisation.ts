import { ConfigError } from "../core/errors.ts";
import { countMasked, forEachMasked, type Rows } from "./masked.ts";

/**
 * How token losses become one loss. Every mode is a weight per row, the same for all its tokens:
 * - rollout: mean over rollouts of the mean over their tokens, 1 / (R tokens of the rollout); Eq. 16 of the Agent
 *   Lightning report and the default
 * - rows: the same with the number of rows, empty ones included, in place of R, as Agent Lightning 1.0 computes it
 * - token-mean: 1 / tokens; token-sum: 1
 * - seq-mean-token-sum: 1 / non-empty rows; -norm also / maxLength (Dr. GRPO's constant)
 * - seq-mean-token-mean: 1 / (non-empty rows * tokens of the row)
 * - prompt-mean: 1 / (groups * tokens of the group)
 * Counts are over the whole optimizer step; micro-batches only add up.
 */
export const normalisations = [
  "rollout",
  "rows",
  "token-mean",
  "token-sum",
  "seq-mean-token-sum",
  "seq-mean-token-sum-norm",
  "seq-mean-token-mean",
  "prompt-mean",
] as const;

/** A mode of `normalisations`. */
export type Normalisation = (typeof normalisations)[number];

/** One row of the step: how many of its tokens are trained and whom it belongs to. */
export interface RowShare {
  rollout: string;
  group: string;
  tokens: number;
}

function sumBy(rows: readonly RowShare[], key: (row: RowShare) => string): Map<string, number> {
  const sums = new Map<string, number>();
  for (const row of rows) if (row.tokens > 0) sums.set(key(row), (sums.get(key(row)) ?? 0) + row.tokens);
  return sums;
}

/**
 * The weight of each row's token losses in the step's sum, (N), 0 for rows without tokens. Rollouts and groups without
 * a token are not counted.
 * @param maxLength the constant of seq-mean-token-sum-norm, in tokens
 * @throws ConfigError on an unknown mode, or a missing maxLength.
 */
export function rowWeights(rows: readonly RowShare[], mode: Normalisation, maxLength = 0): Float64Array {
  const weight = weightOf(rows, mode, maxLength);
  return Float64Array.from(rows, (row) => (row.tokens === 0 ? 0 : weight(row)));
}

function weightOf(rows: readonly RowShare[], mode: Normalisation, maxLength: number): (row: RowShare) => number {
  const rollouts = sumBy(rows, (row) => row.rollout);
  const groups = sumBy(rows, (row) => row.group);
  const sequences = rows.reduce((n, row) => n + (row.tokens > 0 ? 1 : 0), 0);
  const tokens = rows.reduce((n, row) => n + row.tokens, 0);
  switch (mode) {
    case "rollout":
      return (row) => 1 / (rollouts.size * (rollouts.get(row.rollout) as number));
    case "rows":
      return (row) => 1 / (rows.length * (rollouts.get(row.rollout) as number));
    case "token-mean":
      return () => 1 / tokens;
    case "token-sum":
      return () => 1;
    case "seq-mean-token-sum":
      return () => 1 / sequences;
    case "seq-mean-token-sum-norm":
      if (maxLength > 0) return () => 1 / (sequences * maxLength);
      throw new ConfigError(`seq-mean-token-sum-norm divides by a length, which is ${maxLength}.`, {
        do: "Set the normalisation's length in tokens, for example the longest reply.",
      });
    case "seq-mean-token-mean":
      return (row) => 1 / (sequences * row.tokens);
    case "prompt-mean":
      return (row) => 1 / (groups.size * (groups.get(row.group) as number));
    default:
      throw new ConfigError(`There is no normalisation "${String(mode)}".`, {
        do: `Use one of ${normalisations.join(", ")}.`,
      });
  }
}

/**
 * What a part of a step, made of whole groups, adds to the divisor that all weights of the step have in common: the
 * weights of the part alone times its divisor, over the sum of all parts' divisors, are the weights in the step. null
 * where a weight does not depend on the rest of the step (token-sum).
 */
export function normalisationDivisor(rows: readonly RowShare[], mode: Normalisation): number | null {
  const filled = rows.filter((row) => row.tokens > 0);
  switch (mode) {
    case "rollout":
      return new Set(filled.map((row) => row.rollout)).size;
    case "rows":
      return rows.length;
    case "token-mean":
      return filled.reduce((n, row) => n + row.tokens, 0);
    case "token-sum":
      return null;
    case "prompt-mean":
      return new Set(filled.map((row) => row.group)).size;
    default:
      return filled.length;
  }
}

/** The rows' shares read off a mask, each row its own rollout and group unless said otherwise. */
export function rowShares(
  mask: Rows,
  owners: { rollouts?: readonly string[]; groups?: readonly string[] } = {},
): RowShare[] {
  return mask.map((row, i) => ({
    rollout: owners.rollouts?.[i] ?? String(i),
    group: owners.groups?.[i] ?? String(i),
    tokens: countMasked(row),
  }));
}

/** Sum over rows and masked tokens of weight * loss; what lies outside the mask is never read. */
export function weightedLoss(losses: Rows, mask: Rows, weights: ArrayLike<number>): number {
  let sum = 0;
  forEachMasked(losses, mask, (loss, row) => {
    sum += (weights[row] as number) * loss;
  });
  return sum;
}
