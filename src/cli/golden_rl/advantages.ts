import { z } from "zod";
import type { ScoredUnit } from "../../rl/advantages/estimator.ts";
import { type AdvantageConfig, estimateAdvantages } from "../../rl/advantages/registry.ts";
import { zeroVarianceGroups } from "../../rl/reward_statistics.ts";
import { type Check, type GoldenKind, type GoldenRow, runGolden } from "./golden_file.ts";

const inputs = z.object({
  rollouts: z.array(
    z.object({ rollout_id: z.string(), group: z.string(), reward: z.number(), row_tokens: z.array(z.number()) }),
  ),
  remax_baselines: z.array(z.number()).optional(),
});

type Case = z.infer<typeof inputs>;

const sum = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0);

/** Rollouts as units; their length is that of all rows or of the first. */
function units(input: Case, length: "first" | "all"): ScoredUnit[] {
  return input.rollouts.map(({ group, reward, row_tokens }, i) => ({
    group,
    reward,
    tokens: length === "first" ? (row_tokens[0] ?? 0) : sum(row_tokens),
    baseline: input.remax_baselines?.[i],
  }));
}

/** Every row as a unit, in rollout order. */
function rowUnits(input: Case): ScoredUnit[] {
  return input.rollouts.flatMap(({ group, reward, row_tokens }) =>
    row_tokens.map((tokens) => ({ group, reward, tokens })),
  );
}

const by =
  (config: AdvantageConfig, length: "first" | "all" = "all"): Check<Case> =>
  (input) =>
    estimateAdvantages(units(input, length), config);

/** verl's whitening: 1e-8 in the count as well. */
const whitened = { eps: 1e-8, countEps: 1e-8 };
const grpo: AdvantageConfig = { estimator: "grpo", single: "reward" };
const drGrpo: AdvantageConfig = { estimator: "dr_grpo", single: "reward" };
const rloo: AdvantageConfig = { estimator: "rloo", single: "reward" };
const opo: AdvantageConfig = { estimator: "opo", single: "reward" };
const rpp: AdvantageConfig = { estimator: "reinforce_plus_plus", ...whitened };
const rppBaseline: AdvantageConfig = { estimator: "reinforce_plus_plus_baseline", single: "reward", ...whitened };

const kind: GoldenKind<Case> = {
  inputs,
  beside: ["zero_variance_groups"],
  floor: 0.1,
  checks: {
    grpo: by(grpo),
    grpo_center_single: by({ estimator: "grpo" }),
    "grpo_eps1e-4": by({ ...grpo, eps: 1e-4 }),
    grpo_batch: by({ estimator: "grpo", std: "batch" }),
    dr_grpo: by(drGrpo),
    rloo: by(rloo),
    gpg: by({ estimator: "gpg", single: "reward" }),
    passk: by({ estimator: "pass_at_k" }),
    opo_first_row: by(opo, "first"),
    opo_total_tokens: by(opo),
    remax: by({ estimator: "remax" }),
    reinforce_pp_first_row_tokens: by(rpp, "first"),
    reinforce_pp_all_tokens: by(rpp),
    reinforce_pp_baseline_first_row_tokens: by(rppBaseline, "first"),
    reinforce_pp_baseline_all_tokens: by(rppBaseline),
    sample_level: (input) => ({
      grpo: estimateAdvantages(rowUnits(input), grpo),
      dr_grpo: estimateAdvantages(rowUnits(input), drGrpo),
      rloo: estimateAdvantages(rowUnits(input), rloo),
    }),
    zero_variance_groups: (input) =>
      zeroVarianceGroups(
        input.rollouts.map((r) => r.group),
        input.rollouts.map((r) => r.reward),
      ),
  },
};

/** advantages.json: one advantage per rollout by every estimator, and per row for comparison. */
export function runAdvantages(json: unknown, file: string): GoldenRow[] {
  return runGolden(json, kind, file);
}
