import { type WhitenOptions, whitenWeighted } from "../masked.ts";
import { type AdvantageEstimator, centred, perGroup, type SingleOptions, singleChoices } from "./estimator.ts";

/**
 * REINFORCE++ for outcome rewards (gamma 1): every token's return is R, whitened over all tokens of the batch, so a
 * unit weighs as many times as it has tokens. Token-level rewards: `discountedReturns` and `whiten`.
 * Source: Hu 2025, arXiv:2501.03262.
 */
export const reinforcePlusPlus: AdvantageEstimator<WhitenOptions> = {
  name: "reinforce_plus_plus",
  defaults: { eps: 1e-8, countEps: 0 },
  choices: {},
  returns: "reward",
  estimate(units, options) {
    return whitenWeighted(
      units.map((u) => u.reward),
      units.map((u) => u.tokens),
      options,
    );
  },
};

/**
 * REINFORCE++ with a baseline: R - mean_g broadcast to the unit's tokens, then whitened over all tokens of the batch.
 * Source: Hu 2025, arXiv:2501.03262.
 */
export const reinforcePlusPlusBaseline: AdvantageEstimator<WhitenOptions & SingleOptions> = {
  name: "reinforce_plus_plus_baseline",
  defaults: { eps: 1e-8, countEps: 0, single: "zero" },
  choices: singleChoices,
  estimate(units, options) {
    return whitenWeighted(
      perGroup(units, (rewards) => centred(rewards, options.single)),
      units.map((u) => u.tokens),
      options,
    );
  },
};
