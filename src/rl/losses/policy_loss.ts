import type { Numbers } from "../masked.ts";
import type { Normalisation } from "../normalisation.ts";

/** One sequence of a policy loss: current and old log-probabilities, advantages, mask; all of length T. */
export interface LossRow {
  logprob: Numbers;
  oldLogprob: Numbers;
  advantages: Numbers;
  /** 0 outside the sampled tokens; values there are never read. */
  mask: Numbers;
}

/**
 * Token losses and their gradients, (T) each, exactly 0 outside the mask. With weights w constant within the row,
 * sum w loss is the row's loss and w grad its gradient with respect to logprob; for losses that couple the tokens of a
 * row the token's share of that gradient is given.
 */
export interface TokenLosses {
  loss: Float64Array;
  grad: Float64Array;
}

/** A policy loss in float64: the oracle of the device's kernels. */
export interface PolicyLoss<Options extends object> {
  name: string;
  defaults: Readonly<Options>;
  /** How its authors average it. */
  normalisation: Normalisation;
  /** True when a sequence whose advantages are all 0 has loss and gradient 0, whatever its policy has drifted to. */
  isZeroWithoutAdvantage: boolean;
  tokens(row: LossRow, options: Readonly<Options>): TokenLosses;
}

/** The bound on |log ratio| before the exponential. */
export const maxLogRatio = 20;

/** exp of the log ratio clamped to +-20, and its derivative, which is 0 where the clamp holds. */
export function clampedRatio(logprob: number, oldLogprob: number): { ratio: number; slope: number; logRatio: number } {
  const raw = logprob - oldLogprob;
  const logRatio = Math.min(Math.max(raw, -maxLogRatio), maxLogRatio);
  const ratio = Math.exp(logRatio);
  return { ratio, slope: raw === logRatio ? ratio : 0, logRatio };
}

/** Limits a value to [low, high]; NaN stays NaN. */
export function clip(value: number, low: number, high: number): number {
  return Math.min(Math.max(value, low), high);
}

/** Loss and gradient of each masked token on its own; `token` gets logprob, oldLogprob, advantage. */
export function tokenwise(
  row: LossRow,
  token: (logprob: number, oldLogprob: number, advantage: number) => { loss: number; grad: number },
): TokenLosses {
  const length = row.mask.length;
  const out: TokenLosses = { loss: new Float64Array(length), grad: new Float64Array(length) };
  for (let t = 0; t < length; t++) {
    if (row.mask[t] === 0) continue;
    const { loss, grad } = token(row.logprob[t] as number, row.oldLogprob[t] as number, row.advantages[t] as number);
    out.loss[t] = loss;
    out.grad[t] = grad;
  }
  return out;
}
