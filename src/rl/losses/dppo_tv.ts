import { clampedRatio, type PolicyLoss, tokenwise } from "./policy_loss.ts";

export interface DppoTvOptions {
  /** A token with A <= 0 is left out once its probability fell by more than this. */
  maxDecrease: number;
  /** A token with A > 0 is left out once its probability rose by more than this. */
  maxIncrease: number;
  /** Bound on the ratio that weighs a token. */
  maxRatio: number;
}

/**
 * DPPO-TV: -A sg(min(r, maxRatio)) logprob, 0 where the probability (not its ratio) already moved too far in the
 * direction of the advantage; the denominators keep counting such tokens.
 * Source: the loss of that name in verl and prime-rl.
 */
export const dppoTv: PolicyLoss<DppoTvOptions> = {
  name: "dppo_tv",
  defaults: { maxDecrease: 0.2, maxIncrease: 0.2, maxRatio: 20 },
  normalisation: "token-mean",
  isZeroWithoutAdvantage: true,
  tokens(row, { maxDecrease, maxIncrease, maxRatio }) {
    return tokenwise(row, (logprob, old, advantage) => {
      const moved = Math.exp(logprob) - Math.exp(old);
      if (advantage > 0 ? moved > maxIncrease : moved < -maxDecrease) return { loss: 0, grad: 0 };
      const grad = -advantage * Math.min(clampedRatio(logprob, old).ratio, maxRatio);
      return { loss: grad * logprob, grad };
    });
  },
};
