import { clampedRatio, type PolicyLoss, tokenwise } from "./policy_loss.ts";

export interface SapoOptions {
  /** Gate temperature for positive advantages. */
  tauPositive: number;
  /** Gate temperature for the others. */
  tauNegative: number;
}

/**
 * SAPO: -A (4 / tau) sigmoid(tau (r - 1)), a soft gate in place of the clip; its slope at r = 1 is PPO's.
 * Source: Gao et al. 2025, arXiv:2511.20347.
 */
export const sapo: PolicyLoss<SapoOptions> = {
  name: "sapo",
  defaults: { tauPositive: 1, tauNegative: 1.05 },
  normalisation: "seq-mean-token-mean",
  isZeroWithoutAdvantage: true,
  tokens(row, { tauPositive, tauNegative }) {
    return tokenwise(row, (logprob, old, advantage) => {
      const tau = advantage > 0 ? tauPositive : tauNegative;
      const { ratio, slope } = clampedRatio(logprob, old);
      const gate = 1 / (1 + Math.exp(-tau * (ratio - 1)));
      return { loss: (-advantage * gate * 4) / tau, grad: -advantage * 4 * gate * (1 - gate) * slope };
    });
  },
};
