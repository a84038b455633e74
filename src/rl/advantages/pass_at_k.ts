import { standardDeviation } from "../reward_statistics.ts";
import { type AdvantageEstimator, perGroup } from "./estimator.ts";

export interface PassAtKOptions {
  /** Divide by the group's deviation plus eps. */
  std: "group" | "none";
  eps: number;
}

/**
 * Pass@k: the best of a group gets (max - second) / (std + eps), the others 0; a group of one gets 0.
 * Source: Tang et al. 2025, arXiv:2503.19595, in verl's form.
 */
export const passAtK: AdvantageEstimator<PassAtKOptions> = {
  name: "pass_at_k",
  defaults: { std: "group", eps: 1e-6 },
  choices: { std: ["group", "none"] },
  estimate(units, { std, eps }) {
    return perGroup(units, (rewards) => {
      const out = rewards.map(() => 0);
      if (rewards.length < 2) return out;
      const best = rewards.reduce((top, r, i) => (r > (rewards[top] as number) ? i : top), 0);
      const second = Math.max(...rewards.filter((_, i) => i !== best));
      const scale = std === "none" ? 1 : standardDeviation(rewards) + eps;
      out[best] = ((rewards[best] as number) - second) / scale;
      return out;
    });
  },
};
