/** Advantages of a group as the run computes them, for people to look at. */
import { type AdvantageConfig, isGroupLocal } from "../rl/advantages/registry.ts";
import { needsValues } from "../rl/advantages/token_registry.ts";
import {
  type Batch,
  type BatchOptions,
  batchDefaults,
  type GroupRecord,
  type RolloutRecord,
} from "../rl/batch/batch_input.ts";
import { buildBatch } from "../rl/batch/build_batch.ts";
import { mean, standardDeviation } from "../rl/reward_statistics.ts";
import type { ExperimentConfig } from "../schema/experiment.ts";
import type { CreditGap, GroupCredit, RolloutCredit } from "../schema/studio.ts";
import { objectiveOf } from "./objective.ts";
import { groupsOfPolicy } from "./policies.ts";

/** Groups of an update, of which `group` is looked at, and the update's number, 0 before there is one. */
export interface CreditQuestion {
  readonly group: string;
  readonly groups: readonly GroupRecord[];
  readonly update: number;
  readonly mode: "train" | "val";
}

/** True when a group's advantages depend on the other groups of its update. */
export function needsWholeUpdate({ train }: ExperimentConfig): boolean {
  return !isGroupLocal({ estimator: train.advantage, ...train.advantageOptions } as AdvantageConfig);
}

/** Options of the run that need nothing of the device, and what is left out for that. */
function lookingOptions(config: ExperimentConfig, update: number): { options: BatchOptions; gaps: CreditGap[] } {
  const { batch } = objectiveOf(config.train, {
    seed: config.seed,
    update: Math.max(1, update),
    klCoef: config.train.klCoef,
  });
  const own: BatchOptions = { ...batchDefaults, ...batch };
  const gaps: CreditGap[] = [];
  if (needsValues(own.advantage)) gaps.push("critic");
  if (own.klInReward > 0) gaps.push("kl_in_reward");
  if (own.correction !== null || own.rejections.length > 0 || own.opsmDelta > 0) gaps.push("correction");
  const options: BatchOptions = {
    ...own,
    oldLogprobs: "sampler",
    klInReward: 0,
    correction: null,
    rejections: [],
    opsmDelta: 0,
    skipZeroAdvantage: false,
    missingReward: own.missingReward === "error" ? "exclude" : own.missingReward,
    miniBatches: 1,
  };
  return { options, gaps };
}

/** One advantage per call where all its tokens have the same, else one per token. */
function advantagesByCall({ rows, origins }: Batch): Record<string, number | number[]> {
  const tokens = new Map<string, number[]>();
  for (const [i, row] of rows.entries()) {
    const origin = origins[i];
    for (let r = 0; r < row.src.length; r++) {
      const call = origin?.calls[origin.call[r] as number]?.call ?? "";
      const known = tokens.get(call) ?? [];
      known[origin?.token[r] as number] = row.advantage[r] as number;
      tokens.set(call, known);
    }
  }
  const found = [...tokens].map(([call, values]) => {
    const all = Array.from(values, (value) => value ?? 0);
    return [call, all.every((value) => value === all[0]) ? (all[0] as number) : all] as const;
  });
  return Object.fromEntries(found);
}

/** Estimators whose advantage is the reward minus a baseline of their own, undivided. */
const undivided: readonly string[] = ["dr_grpo", "rloo", "opo", "remax"];

function creditOf(
  rollout: RolloutRecord,
  batch: Batch,
  options: BatchOptions,
  groupMean: number | null,
): RolloutCredit {
  const { reward, id } = rollout;
  const found = batch.rollouts.find((known) => known.id === id);
  const known = reward !== null && Number.isFinite(reward) ? reward : null;
  const taken = known ?? (options.missingReward === "fill" ? options.rewardFill : null);
  const advantage = found?.advantage ?? null;
  const own = undivided.includes(options.advantage.estimator) && options.level === "rollout";
  const baseline = own && advantage !== null && taken !== null ? taken - advantage : groupMean;
  return {
    id,
    reward: known,
    filled: known === null ? taken : null,
    baseline,
    advantage,
    tokens: found?.tokens ?? 0,
    excluded: found === undefined ? reasonOf(rollout) : null,
  };
}

function reasonOf({ calls, attempt }: RolloutRecord): string {
  const own = calls.filter((call) => call.attempt === attempt);
  if (own.length === 0) return "no calls";
  const reasons = new Set(own.map((call) => call.excluded));
  return reasons.size === 1 ? ([...reasons][0] ?? "left out") : "left out";
}

/** Rewards of a group, and the advantages that the run's estimator gives them. Nothing is written. */
export function groupCredit(config: ExperimentConfig | null, question: CreditQuestion): GroupCredit | null {
  const group = question.groups.find(({ id }) => id === question.group);
  if (group === undefined) return null;
  const rewards = group.rollouts.flatMap(({ reward }) => (reward !== null && Number.isFinite(reward) ? [reward] : []));
  const groupMean = rewards.length === 0 ? null : mean(rewards);
  const credit: GroupCredit = {
    group: group.id,
    task: group.task,
    mode: question.mode,
    update: question.update === 0 ? null : question.update,
    estimator: config?.train.advantage ?? "",
    level: config?.train.level ?? "",
    mean: groupMean,
    std: rewards.length < 2 ? null : standardDeviation(rewards),
    rollouts: [],
    calls: {},
    gaps: [],
  };
  const { batches, options, gaps } = config === null ? nothingKnown : batchesOf(config, question, group);
  const [first = emptyBatch] = batches;
  return {
    ...credit,
    gaps,
    rollouts: group.rollouts.map((rollout) => creditOf(rollout, first, options, groupMean)),
    calls: Object.assign({}, ...batches.map(advantagesByCall)),
  };
}

/** The batch of each policy's calls; none where only a critic could tell. */
function batchesOf(
  config: ExperimentConfig,
  { groups: all, update }: CreditQuestion,
  group: GroupRecord,
): { batches: Batch[]; options: BatchOptions; gaps: CreditGap[] } {
  const { options, gaps } = lookingOptions(config, update);
  const whole = needsWholeUpdate(config);
  if (whole && update === 0) gaps.push("batch");
  if (gaps.includes("critic")) return { batches: [], options, gaps };
  const { policies } = config.train;
  const groups = whole ? all : [group];
  const views = policies.length < 2 ? [groups] : policies.map((policy) => groupsOfPolicy(groups, policy));
  return { batches: views.map((view) => buildBatch(view, options)), options, gaps };
}

const emptyBatch: Batch = { rows: [], origins: [], steps: [], rollouts: [], units: [], metrics: {} };
const nothingKnown = { batches: [], options: batchDefaults, gaps: [] };
