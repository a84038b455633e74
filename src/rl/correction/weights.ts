import { countMasked, forEachMasked, type Numbers, type Rows, zerosLike } from "../masked.ts";

/** What one importance weight belongs to: a token, or a whole row (its product or geometric mean of token ratios). */
export type CorrectionLevel = "token" | "sequence" | "geometric";

/** How importance weights are bounded. */
export interface CorrectionOptions {
  level: CorrectionLevel;
  /** "truncate": min(w, high) (TIS). "mask": 0 outside [low, high] (IcePop, MIS). */
  bound: "truncate" | "mask";
  low: number;
  high: number;
  /** Divide by the mean weight: over tokens for "token", over rows otherwise. */
  batchNormalise: boolean;
}

/** Bound on |log weight| before the exponential. */
const maxLogWeight = 20;

/** log weight of each row's tokens: trainer's minus sampler's log-probability, (B, T), 0 outside the mask. */
export function logWeights(trainLogprob: Rows, rolloutLogprob: Rows, mask: Rows): Float64Array[] {
  const out = zerosLike(mask);
  forEachMasked(trainLogprob, mask, (logprob, row, t) => {
    (out[row] as Float64Array)[t] = logprob - (rolloutLogprob[row]?.[t] as number);
  });
  return out;
}

function bounded(logWeight: number, options: CorrectionOptions): number {
  const weight = Math.exp(Math.min(Math.max(logWeight, -maxLogWeight), maxLogWeight));
  if (options.bound === "truncate") return Math.min(weight, options.high);
  return weight >= options.low && weight <= options.high ? weight : 0;
}

/** A row's log weight at row level; 0 for a row without sampled tokens. */
function rowLogWeight(logWeight: Float64Array, mask: Numbers, level: "sequence" | "geometric"): number {
  const sum = logWeight.reduce((total, value) => total + value, 0);
  const n = countMasked(mask);
  return level === "sequence" || n === 0 ? sum : sum / n;
}

/**
 * Importance weights from the sampler to the trainer's policy, (B, T), 0 outside the mask. They are constants of the
 * gradient, multiply the loss after its clip, and leave the denominators alone. "Sequence" is a row, not a rollout.
 * Source: verl's rollout correction; TIS Yao et al. 2025, "Your efficient RL framework secretly brings you off-policy
 * RL training"; IcePop in Ring-1T.
 */
export function correctionWeights(
  trainLogprob: Rows,
  rolloutLogprob: Rows,
  mask: Rows,
  options: CorrectionOptions,
): Float64Array[] {
  const logs = logWeights(trainLogprob, rolloutLogprob, mask);
  const { level } = options;
  const rowWeights =
    level === "token" ? [] : logs.map((row, i) => bounded(rowLogWeight(row, mask[i] ?? [], level), options));
  const out = zerosLike(mask);
  forEachMasked(logs, mask, (logWeight, row, t) => {
    (out[row] as Float64Array)[t] = level === "token" ? bounded(logWeight, options) : (rowWeights[row] as number);
  });
  if (options.batchNormalise) divideByMean(out, mask, level);
  return out;
}

function divideByMean(weights: Float64Array[], mask: Rows, level: CorrectionLevel): void {
  let sum = 0;
  let n = 0;
  weights.forEach((row, i) => {
    const tokens = countMasked(mask[i] as Numbers);
    if (tokens === 0) return;
    const total = row.reduce((s, w) => s + w, 0);
    sum += level === "token" ? total : total / tokens;
    n += level === "token" ? tokens : 1;
  });
  // Everything rejected: there is nothing to normalise.
  if (sum === 0) return;
  for (const row of weights) for (let t = 0; t < row.length; t++) row[t] = ((row[t] as number) * n) / sum;
}
