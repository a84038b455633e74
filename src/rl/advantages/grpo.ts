import { standardDeviation } from "../reward_statistics.ts";
import { type AdvantageEstimator, centred, perGroup, type SingleOptions, singleChoices } from "./estimator.ts";

export interface GrpoOptions extends SingleOptions {
  /** What the centred reward is divided by: the group's deviation, that of all rewards, or nothing. */
  std: "group" | "batch" | "none";
  /** Added to the deviation. */
  eps: number;
}

/**
 * GRPO: A = (R - mean_g) / (std + eps), std unbiased over the group (or over the batch, or 1).
 * Source: Shao et al. 2024, arXiv:2402.03300; eps 1e-6 as in verl, 1e-4 in TRL.
 */
export const grpo: AdvantageEstimator<GrpoOptions> = {
  name: "grpo",
  defaults: { std: "group", eps: 1e-6, single: "zero" },
  choices: { ...singleChoices, std: ["group", "batch", "none"] },
  estimate(units, { std, eps, single }) {
    const batch = std === "batch" ? standardDeviation(units.map((u) => u.reward)) : 0;
    return perGroup(units, (rewards) => {
      const values = centred(rewards, single);
      if (std === "none") return values;
      // One reward has no deviation of its own; verl takes 1.
      const group = rewards.length === 1 ? 1 : standardDeviation(rewards);
      const scale = (std === "batch" ? batch : group) + eps;
      return values.map((value) => value / scale);
    });
  },
};
