import { type PolicyLoss, tokenwise } from "./policy_loss.ts";

export interface DroOptions {
  /** Weight of the quadratic pull to the old policy. */
  beta: number;
}

/**
 * DRO: -(A logprob - beta/2 (logprob - old)^2).
 * Source: Richemond et al. 2024, arXiv:2405.19107, in verl's token form.
 */
export const dro: PolicyLoss<DroOptions> = {
  name: "dro",
  defaults: { beta: 0.1 },
  normalisation: "token-mean",
  isZeroWithoutAdvantage: false,
  tokens(row, { beta }) {
    return tokenwise(row, (logprob, old, advantage) => {
      const d = logprob - old;
      return { loss: -(advantage * logprob - (beta / 2) * d * d), grad: -(advantage - beta * d) };
    });
  },
};
