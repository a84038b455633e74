import { countMasked } from "../masked.ts";
import { clip, type LossRow, type PolicyLoss, tokenwise } from "./policy_loss.ts";

export interface GspoOptions {
  clipLow: number;
  clipHigh: number;
}

/** The row's mean log ratio over its sampled tokens; 0 for a row without any. */
export function meanLogRatio(row: LossRow): number {
  let sum = 0;
  for (let t = 0; t < row.mask.length; t++) {
    if (row.mask[t] !== 0) sum += (row.logprob[t] as number) - (row.oldLogprob[t] as number);
  }
  const n = countMasked(row.mask);
  return n === 0 ? 0 : sum / n;
}

/** Bound above on the mean log ratio, as in verl. */
const maxMeanLogRatio = 10;

/**
 * GSPO, token form: every token has the row's ratio s = exp(mean log ratio, at most 10) and passes the gradient to its
 * own logprob: r_t = sg(s) exp(logprob - sg(logprob)), clipped like PPO. "Row" is one sequence, not one rollout.
 * Source: Zheng et al. 2025, arXiv:2507.18071.
 */
export const gspo: PolicyLoss<GspoOptions> = {
  name: "gspo",
  defaults: { clipLow: 3e-4, clipHigh: 4e-4 },
  normalisation: "seq-mean-token-mean",
  isZeroWithoutAdvantage: true,
  tokens(row, options) {
    const mean = meanLogRatio(row);
    const ratio = Math.exp(Math.min(mean, maxMeanLogRatio));
    const slope = mean > maxMeanLogRatio ? 0 : ratio;
    const clippedRatio = clip(ratio, 1 - options.clipLow, 1 + options.clipHigh);
    return tokenwise(row, (_logprob, _old, advantage) => {
      const plain = -advantage * ratio;
      const limited = -advantage * clippedRatio;
      if (limited > plain) return { loss: limited, grad: 0 };
      return { loss: plain, grad: -advantage * slope };
    });
  },
};
