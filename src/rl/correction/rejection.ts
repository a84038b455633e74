import { ConfigError } from "../../core/errors.ts";
import { countMasked, type Numbers, type Rows } from "../masked.ts";
import { logWeights } from "./weights.ts";

/** Per-token statistic of the log weight lr: k1 = -lr, k2 = lr^2 / 2, k3 = exp(lr) - 1 - lr. */
type Statistic = "k1" | "k2" | "k3";
type Reduction = "token" | "seq_sum" | "seq_mean" | "seq_max";

/** Statistics that tokens or rows can be rejected by. */
export const rejectionKinds = [
  "token_k1",
  "token_k2",
  "token_k3",
  "seq_sum_k1",
  "seq_sum_k2",
  "seq_sum_k3",
  "seq_mean_k1",
  "seq_mean_k2",
  "seq_mean_k3",
  "seq_max_k2",
  "seq_max_k3",
] as const;

/** A statistic of `rejectionKinds`. */
export type RejectionKind = (typeof rejectionKinds)[number];

/** Bounds of a statistic. For k1 they are ratios: log lower <= k1 <= log upper; k2 and k3 only have `upper`. */
export interface RejectionOptions {
  kind: RejectionKind;
  upper: number;
  /** k1 only; default 1 / upper. */
  lower?: number;
}

const statistics: Record<Statistic, (logWeight: number) => number> = {
  k1: (lr) => -lr,
  k2: (lr) => (lr * lr) / 2,
  k3: (lr) => Math.expm1(lr) - lr,
};

function reduceRow(values: Numbers, mask: Numbers, reduction: Exclude<Reduction, "token">): number {
  let sum = 0;
  let max = -Infinity;
  for (let t = 0; t < mask.length; t++) {
    if (mask[t] === 0) continue;
    sum += values[t] as number;
    max = Math.max(max, values[t] as number);
  }
  if (reduction === "seq_sum") return sum;
  return reduction === "seq_max" ? max : sum / countMasked(mask);
}

/**
 * The mask without the tokens, or rows, whose statistic leaves its bounds, (B, T) of 0 and 1. NaN is rejected.
 * @throws ConfigError on an unknown statistic.  Source: verl's rollout rejection sampling; note the sign of k1.
 */
export function rejectionMask(
  trainLogprob: Rows,
  rolloutLogprob: Rows,
  mask: Rows,
  { kind, upper, lower = 1 / upper }: RejectionOptions,
): Uint8Array[] {
  if (!rejectionKinds.includes(kind)) {
    throw new ConfigError(`There is no rejection statistic "${String(kind)}".`, {
      do: `Use one of ${rejectionKinds.join(", ")}.`,
    });
  }
  const statistic = kind.slice(-2) as Statistic;
  const reduction = kind.slice(0, -3) as Reduction;
  const inside = (value: number): boolean =>
    statistic === "k1" ? value >= Math.log(lower) && value <= Math.log(upper) : value <= upper;
  return logWeights(trainLogprob, rolloutLogprob, mask).map((row, i) => {
    const m = mask[i] as Numbers;
    const values = row.map((lr) => statistics[statistic](lr));
    const rowKept = reduction === "token" || countMasked(m) === 0 || inside(reduceRow(values, m, reduction));
    const kept = (t: number): boolean => (reduction === "token" ? inside(values[t] as number) : rowKept);
    return Uint8Array.from(values, (_, t) => (m[t] !== 0 && kept(t) ? 1 : 0));
  });
}

/**
 * OPSM: whether a row of negative advantage drifted so far (mean of old - current logprob above `delta`) that pushing
 * it down further is left out.  Source: slime, DeepSeek-V3.2.
 */
export function offPolicySequenceMasked(
  logprob: Numbers,
  oldLogprob: Numbers,
  mask: Numbers,
  advantage: number,
  delta: number,
): boolean {
  const n = countMasked(mask);
  if (n === 0 || advantage >= 0) return false;
  let sum = 0;
  for (let t = 0; t < mask.length; t++) {
    if (mask[t] !== 0) sum += (oldLogprob[t] as number) - (logprob[t] as number);
  }
  return sum / n > delta;
}
