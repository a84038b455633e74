import { clampedRatio, clip, type PolicyLoss, tokenwise } from "./policy_loss.ts";

export interface CispoOptions {
  /** The weight is clipped below at 1 - clipLow; 1 leaves the lower side open, as its authors do. */
  clipLow: number;
  clipHigh: number;
}

/**
 * CISPO: -sg(clip(r, 1-lo, 1+hi)) A logprob. The clip bounds the weight; no token loses its gradient.
 * Source: MiniMax 2025, arXiv:2506.13585; two-sided in verl and slime.
 */
export const cispo: PolicyLoss<CispoOptions> = {
  name: "cispo",
  defaults: { clipLow: 0.2, clipHigh: 0.28 },
  normalisation: "token-mean",
  isZeroWithoutAdvantage: true,
  tokens(row, { clipLow, clipHigh }) {
    return tokenwise(row, (logprob, old, advantage) => {
      const grad = -clip(clampedRatio(logprob, old).ratio, 1 - clipLow, 1 + clipHigh) * advantage;
      return { loss: grad * logprob, grad };
    });
  },
};
