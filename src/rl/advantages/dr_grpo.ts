import { type AdvantageEstimator, centred, perGroup, type SingleOptions, singleChoices } from "./estimator.ts";

/**
 * Dr. GRPO: A = R - mean_g, no division, so that hard and easy tasks weigh alike.
 * Source: Liu et al. 2025, arXiv:2503.20783.
 */
export const drGrpo: AdvantageEstimator<SingleOptions> = {
  name: "dr_grpo",
  defaults: { single: "zero" },
  choices: singleChoices,
  estimate(units, { single }) {
    return perGroup(units, (rewards) => centred(rewards, single));
  },
};
