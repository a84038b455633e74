import { groupIndices, mean, standardDeviation } from "../reward_statistics.ts";
import { discountedReturns } from "./gae.ts";
import { everything, type TokenEstimator } from "./token_estimator.ts";

export interface TokenGrpoOptions {
  gamma: number;
  /** Added to the deviation of the group's total rewards. */
  eps: number;
}

/**
 * GRPO with process rewards: the return to go of each token minus the mean, at its position, over the group's sequences
 * that are still running there, divided by the deviation of the group's total rewards. A group whose totals are equal
 * gets 0, as does a token that no other sequence of its group reaches.
 * Source: Shao et al. 2024, arXiv:2402.03300, process supervision, with a baseline per position.
 */
export const tokenGrpo: TokenEstimator<TokenGrpoOptions> = {
  name: "process_grpo",
  defaults: { gamma: 1, eps: 1e-6 },
  needsValues: false,
  estimate(sequences, { gamma, eps }) {
    const rewards = sequences.map((s) => s.rewards);
    const returns = discountedReturns(rewards, everything(rewards), gamma);
    const advantages = rewards.map((row) => new Float64Array(row.length));
    for (const members of groupIndices(sequences.map((s) => s.group)).values()) {
      const totals = members.map((i) => (rewards[i] as Float64Array).reduce((a, b) => a + b, 0));
      const deviation = standardDeviation(totals);
      if (deviation === 0) continue;
      const longest = Math.max(...members.map((i) => (rewards[i] as Float64Array).length));
      for (let t = 0; t < longest; t++) {
        const running = members.filter((i) => (rewards[i] as Float64Array).length > t);
        const baseline = mean(running.map((i) => returns[i]?.[t] as number));
        for (const i of running) {
          (advantages[i] as Float64Array)[t] = ((returns[i]?.[t] as number) - baseline) / (deviation + eps);
        }
      }
    }
    return { advantages, returns: null };
  },
};
