import { z } from "zod";
import { Rng, seedKey } from "../../core/rng.ts";
import type { AdvantageConfig } from "../../rl/advantages/registry.ts";
import {
  broadcastAdvantages,
  normalisedAdvantages,
  type RewardedRow,
  rolloutLevelAdvantages,
} from "../../rl/agent_lightning/rollout_level.ts";
import { keptRows, planRowDrop, type RowDropPlan } from "../../rl/agent_lightning/row_drop.ts";
import { ppo } from "../../rl/losses/ppo.ts";
import { type Check, type GoldenKind, type GoldenRow, runGolden } from "./golden_file.ts";
import { lossRows, matrix, weighted } from "./loss_case.ts";

const levelInputs = z.object({
  estimator: z.enum(["grpo", "dr_grpo", "rloo"]),
  rows: z.array(z.object({ rollout: z.string(), uid: z.string(), reward: z.number(), mask: z.array(z.number()) })),
  num_trained_rows: z.number(),
  logprob: matrix,
  old_logprob: matrix,
  is_weights: matrix,
  clip_low: z.number(),
  clip_high: z.number(),
  clip_c: z.number(),
});
type LevelCase = z.infer<typeof levelInputs>;

function rewardedRows(input: LevelCase): RewardedRow[] {
  return input.rows.map(({ rollout, uid, reward, mask }) => ({ rollout, group: uid, reward, mask }));
}

function rolloutAdvantages(input: LevelCase): Map<string, number> {
  // Agent Lightning keeps verl's estimators, where a group of one gets its reward.
  const config: AdvantageConfig = { estimator: input.estimator, single: "reward" };
  return rolloutLevelAdvantages(rewardedRows(input), config);
}

function normalised(input: LevelCase, mode: "rows" | "rollout"): Float64Array[] {
  const rows = rewardedRows(input);
  return normalisedAdvantages(rows, broadcastAdvantages(rows, rolloutAdvantages(input)), mode);
}

/** Dual-clip PPO of the normalised advantages, summed; `weigh` multiplies by the case's importance weights. */
const lossBy =
  (mode: "rows" | "rollout", weigh: boolean): Check<LevelCase> =>
  (input) => {
    const mask = input.rows.map((row) => row.mask);
    const advantages = normalised(input, mode).map((row) => Array.from(row));
    const options = { clipLow: input.clip_low, clipHigh: input.clip_high, dualClip: input.clip_c };
    const tokens = lossRows({ ...input, advantages, mask }).map((row) => ppo.tokens(row, options));
    tokens.forEach((row, i) => {
      for (let t = 0; weigh && t < row.loss.length; t++) {
        if (mask[i]?.[t] === 0) continue;
        const weight = input.is_weights[i]?.[t] as number;
        row.loss[t] = (row.loss[t] as number) * weight;
        row.grad[t] = (row.grad[t] as number) * weight;
      }
    });
    return weighted(tokens, mask, new Float64Array(mask.length).fill(1));
  };

const levelKind: GoldenKind<LevelCase> = {
  inputs: levelInputs,
  beside: ["rollout_advantage"],
  floor: 0.001,
  checks: {
    rollout_advantage: (input) => Object.fromEntries(rolloutAdvantages(input)),
    advantages: (input) => broadcastAdvantages(rewardedRows(input), rolloutAdvantages(input)),
    normalized_advantages: (input) => normalised(input, "rows"),
    plain: lossBy("rows", false),
    is_weighted: lossBy("rows", true),
    by_rollout_count: lossBy("rollout", false),
  },
};

/** agl_rollout_level.json: one advantage per rollout and the per-rollout mean loss. */
export function runRolloutLevel(json: unknown, file: string): GoldenRow[] {
  return runGolden(json, levelKind, file);
}

const dropInputs = z.object({
  uid: z.array(z.string()),
  reward: z.array(z.number()),
  mini_batch_rows: z.number().int().positive(),
  max_ppo_update_times: z.number().int().nullable(),
});
type DropCase = z.infer<typeof dropInputs>;

const plan = (input: DropCase): RowDropPlan =>
  planRowDrop(input.uid, input.reward, input.mini_batch_rows, input.max_ppo_update_times);

/** What a real draw keeps, so that the counts are those of rows and not only of the plan. */
function drawn(input: DropCase): { trained: number; sameReward: number; random: number } {
  const planned = plan(input);
  const kept = new Set(keptRows(planned, input.uid.length, new Rng(seedKey(input.uid.length))));
  const equal = new Set(planned.sameReward);
  const gone = input.uid.flatMap((_, i) => (kept.has(i) ? [] : [i]));
  const sameReward = gone.filter((i) => equal.has(i)).length;
  return { trained: kept.size, sameReward, random: gone.length - sameReward };
}

const dropKind: GoldenKind<DropCase> = {
  inputs: dropInputs,
  floor: 1,
  checks: {
    n_trained: (input) => drawn(input).trained,
    n_drop: (input) => plan(input).dropped,
    same_reward_indices: (input) => plan(input).sameReward,
    n_dropped_same_reward: (input) => drawn(input).sameReward,
    n_dropped_random: (input) => drawn(input).random,
    skip_step: (input) => plan(input).skipStep,
    zero_variance_groups: (input) => plan(input).zeroVarianceGroups,
  },
};

/** agl_row_drop.json: which rows Agent Lightning gives up to fill whole mini-batches. */
export function runRowDrop(json: unknown, file: string): GoldenRow[] {
  return runGolden(json, dropKind, file);
}
