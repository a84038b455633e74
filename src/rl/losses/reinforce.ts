import { clampedRatio, type PolicyLoss, tokenwise } from "./policy_loss.ts";

export interface ReinforceOptions {
  /** Weigh each token by min(r, cap), truncated importance sampling against oldLogprob; 0 turns it off. */
  cap: number;
}

/**
 * REINFORCE: -A logprob; with a cap -sg(min(r, cap)) A logprob.
 * Source: Williams 1992; truncation as in verl's bypass mode.
 */
export const reinforce: PolicyLoss<ReinforceOptions> = {
  name: "reinforce",
  defaults: { cap: 0 },
  normalisation: "token-mean",
  isZeroWithoutAdvantage: true,
  tokens(row, { cap }) {
    return tokenwise(row, (logprob, old, advantage) => {
      const weight = cap === 0 ? 1 : Math.min(clampedRatio(logprob, old).ratio, cap);
      const grad = -weight * advantage;
      return { loss: grad * logprob, grad };
    });
  },
};
