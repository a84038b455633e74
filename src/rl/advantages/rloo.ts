import { type AdvantageEstimator, centred, perGroup, type SingleOptions, singleChoices } from "./estimator.ts";

/**
 * RLOO: A = R - mean of the others = n/(n-1) (R - mean_g); the second form is exactly 0 for equal rewards.
 * Source: Ahmadian et al. 2024, arXiv:2402.14740.
 */
export const rloo: AdvantageEstimator<SingleOptions> = {
  name: "rloo",
  defaults: { single: "zero" },
  choices: singleChoices,
  estimate(units, { single }) {
    return perGroup(units, (rewards) => {
      const n = rewards.length;
      const scale = n === 1 ? 1 : n / (n - 1);
      return centred(rewards, single).map((value) => value * scale);
    });
  },
};
