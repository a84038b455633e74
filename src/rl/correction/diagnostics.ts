import { forEachMasked, type Rows } from "../masked.ts";
import { correctionWeights, logWeights } from "./weights.ts";

/** How far the trainer's policy is from the one that sampled, over the masked tokens; all 0 without any. */
export interface CorrectionDiagnostics {
  /** Mean of sampler's minus trainer's log-probability: k1 estimate of KL(sampler || trainer). */
  k1: number;
  /** Mean of exp(lr) - 1 - lr, lr = trainer's - sampler's, not clamped. */
  k3: number;
  /** Largest |lr|. */
  maxLogRatio: number;
  /** Mean of the token weights truncated at `cap`. */
  meanWeight: number;
  /** Effective sample size as a share, 1 / mean((w / mean w)^2), of those weights. */
  ess: number;
  /** Share of tokens whose weight was truncated. */
  truncatedFrac: number;
}

/** Diagnostics with token weights truncated at `cap`. Source: verl's rollout_corr metrics. */
export function correctionDiagnostics(
  trainLogprob: Rows,
  rolloutLogprob: Rows,
  mask: Rows,
  cap = 2,
): CorrectionDiagnostics {
  const out: CorrectionDiagnostics = { k1: 0, k3: 0, maxLogRatio: 0, meanWeight: 0, ess: 0, truncatedFrac: 0 };
  let n = 0;
  forEachMasked(logWeights(trainLogprob, rolloutLogprob, mask), mask, (lr) => {
    n++;
    out.k1 -= lr;
    out.k3 += Math.expm1(lr) - lr;
    out.maxLogRatio = Math.max(out.maxLogRatio, Math.abs(lr));
    out.truncatedFrac += Math.exp(lr) > cap ? 1 : 0;
  });
  if (n === 0) return out;
  const weights = correctionWeights(trainLogprob, rolloutLogprob, mask, {
    level: "token",
    bound: "truncate",
    low: 0,
    high: cap,
    batchNormalise: false,
  });
  let sum = 0;
  let squares = 0;
  forEachMasked(weights, mask, (w) => {
    sum += w;
    squares += w * w;
  });
  const meanWeight = sum / n;
  return {
    k1: out.k1 / n,
    k3: out.k3 / n,
    maxLogRatio: out.maxLogRatio,
    meanWeight,
    ess: squares === 0 ? 0 : (meanWeight * meanWeight) / (squares / n),
    truncatedFrac: out.truncatedFrac / n,
  };
}
