import { type AdvantageEstimator, centred, perGroup, type SingleOptions, singleChoices } from "./estimator.ts";

/**
 * OPO: A = R - sum(L R) / sum(L), the baseline of least variance when the gradient's norm grows with length L in
 * sampled tokens. Units without tokens weigh nothing; a group without any falls back to the plain mean.
 * Source: Hao et al. 2025, arXiv:2505.23585.
 */
export const opo: AdvantageEstimator<SingleOptions> = {
  name: "opo",
  defaults: { single: "zero" },
  choices: singleChoices,
  estimate(units, { single }) {
    return perGroup(units, (rewards, members) => {
      if (rewards.length === 1) return centred(rewards, single);
      const total = members.reduce((sum, m) => sum + m.tokens, 0);
      const first = rewards[0] as number;
      const share = (tokens: number): number => (total === 0 ? 1 / members.length : tokens / total);
      // Shifted by the first reward, so that equal rewards give exactly 0.
      const baseline = members.reduce((sum, m) => sum + share(m.tokens) * (m.reward - first), first);
      return rewards.map((r) => r - baseline);
    });
  },
};
