import { whiten } from "../masked.ts";
import { discountedReturns } from "./gae.ts";
import { everything, type TokenEstimator } from "./token_estimator.ts";

export interface TokenReturnsOptions {
  gamma: number;
  /** 1 whitens over all tokens of the batch, as REINFORCE++ does; 0 leaves the returns. */
  whiten: number;
}

/** REINFORCE++ with token rewards: discounted returns to go, whitened over the batch. Source: Hu 2025, arXiv:2501.03262. */
export const tokenReturns: TokenEstimator<TokenReturnsOptions> = {
  name: "returns",
  defaults: { gamma: 1, whiten: 1 },
  needsValues: false,
  estimate(sequences, options) {
    const rewards = sequences.map((s) => s.rewards);
    const mask = everything(rewards);
    const returns = discountedReturns(rewards, mask, options.gamma);
    return { advantages: options.whiten === 0 ? returns : whiten(returns, mask), returns: null, toGo: returns };
  },
};
