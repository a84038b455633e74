import { type AdvantageEstimator, centred, perGroup, type SingleOptions, singleChoices } from "./estimator.ts";

/**
 * GPG: A = (B / number of non-zero rewards) (R - mean_g), B units in the batch; all 0 when every reward is 0.
 * Source: Chu et al. 2025, arXiv:2504.02546, in verl's form.
 */
export const gpg: AdvantageEstimator<SingleOptions> = {
  name: "gpg",
  defaults: { single: "zero" },
  choices: singleChoices,
  estimate(units, { single }) {
    const nonZero = units.reduce((n, u) => n + (u.reward === 0 ? 0 : 1), 0);
    const scale = nonZero === 0 ? 0 : units.length / nonZero;
    return perGroup(units, (rewards) => centred(rewards, single).map((value) => value * scale));
  },
};
