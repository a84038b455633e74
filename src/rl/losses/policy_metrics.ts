import type { LossRow } from "./policy_loss.ts";
import { type PpoOptions, ppoToken } from "./ppo.ts";

/** Means over the sampled tokens of a step; all 0 without any. */
export interface PolicyMetrics {
  /** k1 estimate of KL(old || current): mean of old - logprob, clamped to +-20. */
  approxKl: number;
  ratioMean: number;
  ratioMax: number;
  /** Share of tokens where the clip made the loss larger. */
  clipFrac: number;
  /** Share of tokens where the dual clip made the loss smaller. */
  dualClipFrac: number;
}

/** What a PPO step did to its tokens. Source: verl's actor/ppo_kl, pg_clipfrac, pg_clipfrac_lower. */
export function policyMetrics(rows: readonly LossRow[], options: PpoOptions): PolicyMetrics {
  const sum: PolicyMetrics = { approxKl: 0, ratioMean: 0, ratioMax: 0, clipFrac: 0, dualClipFrac: 0 };
  let n = 0;
  for (const row of rows) {
    for (let t = 0; t < row.mask.length; t++) {
      if (row.mask[t] === 0) continue;
      const logprob = row.logprob[t] as number;
      const token = ppoToken(logprob, row.oldLogprob[t] as number, row.advantages[t] as number, options);
      n++;
      sum.approxKl -= token.logRatio;
      sum.ratioMean += token.ratio;
      sum.ratioMax = Math.max(sum.ratioMax, token.ratio);
      sum.clipFrac += token.clipped ? 1 : 0;
      sum.dualClipFrac += token.dualClipped ? 1 : 0;
    }
  }
  if (n === 0) return sum;
  return {
    approxKl: sum.approxKl / n,
    ratioMean: sum.ratioMean / n,
    ratioMax: sum.ratioMax,
    clipFrac: sum.clipFrac / n,
    dualClipFrac: sum.dualClipFrac / n,
  };
}
