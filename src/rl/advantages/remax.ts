import { LeydenError } from "../../core/errors.ts";
import type { AdvantageEstimator } from "./estimator.ts";

/**
 * ReMax: A = R - R(greedy rollout of the same task).
 * @throws LeydenError "missing_baseline" when a unit has none.  Source: Li et al. 2023, arXiv:2310.10505.
 */
export const remax: AdvantageEstimator<object> = {
  name: "remax",
  defaults: {},
  choices: {},
  returns: "reward",
  estimate(units) {
    return Float64Array.from(units, (unit, i) => {
      if (unit.baseline !== undefined) return unit.reward - unit.baseline;
      throw new LeydenError("missing_baseline", `Unit ${i} of group ${unit.group} has no greedy reward.`, {
        do: "Run one greedy rollout per task and pass its reward as baseline, or choose another estimator.",
      });
    });
  },
};
