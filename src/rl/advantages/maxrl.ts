import { mean } from "../reward_statistics.ts";
import { type AdvantageEstimator, perGroup } from "./estimator.ts";

/**
 * MaxRL: A = (R - mean_g) / mean_g, which weighs a rare success like a likelihood gradient would; 0 where the mean is
 * not positive. A group of one gets 0 of itself, for its reward is the mean.
 * Source: the estimator of that name in prime-rl and SkyRL.
 */
export const maxrl: AdvantageEstimator<object> = {
  name: "maxrl",
  defaults: {},
  choices: {},
  estimate(units) {
    return perGroup(units, (rewards) => {
      const m = mean(rewards);
      return rewards.map((r) => (m > 0 ? (r - m) / m : 0));
    });
  },
};
