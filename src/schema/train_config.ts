/** The training section of an experiment's configuration. */
import { z } from "zod";
import type { KlKind, LossKind } from "./loss.ts";

/** Numbers that some policy losses have; what is left out has the loss's default. */
export interface LossOptions {
  cap?: number;
  tauPositive?: number;
  tauNegative?: number;
  beta?: number;
}

/** A statistic of the drift from sampler to trainer and its bounds; `lower` is for k1 alone, default 1 / upper. */
export interface Rejection {
  kind: string;
  upper: number;
  lower?: number;
}

/** The update. */
export interface TrainConfig {
  updates: number;
  /** Tasks per update, and rollouts per task. */
  tasksPerUpdate: number;
  groupSize: number;
  temperature: number;
  /** Name of an advantage estimator, over scalar or token rewards, and its options. */
  advantage: string;
  advantageOptions: Record<string, unknown>;
  /** What gets one advantage: the rollout, each call, each agent of a rollout, or, for comparison, each row. */
  level: "rollout" | "call" | "agent" | "row";
  /** At level "call": factor of what a continuing call earned. */
  callDiscount: number;
  /** "trie" computes shared prefixes once; the linear views are Agent Lightning's rows and ours. */
  view: "trie" | "trajectory" | "transition" | "rows_best_prefix";
  /** Constant of seq-mean-token-sum-norm in tokens. */
  normalisationLength: number;
  /** How token losses are averaged: "rollout" is Eq. 16, "rows" Agent Lightning's released code, or an aggregation. */
  normalisation: string;
  /** Name of a policy loss: ppo, gspo, gmpo, cispo, sapo, dppo_tv, reinforce or dro. */
  loss: Exclude<LossKind, "cross_entropy">;
  /** What a loss has beside clipLow, clipHigh and dualClip: cap, tauPositive, tauNegative, beta. */
  lossOptions: LossOptions;
  /** What gspo and gmpo take one ratio of: a row (a lineage of calls), or the whole rollout. */
  ratioOf: "row" | "rollout";
  /**
   * How far below and above 1 a ratio may go (gmpo: a log ratio from 0; dppo_tv: a probability from the old one); "auto"
   * is what the loss's own file in src/rl/losses states.
   */
  clipLow: number | "auto";
  clipHigh: number | "auto";
  /** PPO's bound for negative advantages, above 1; 0 turns it off. */
  dualClip: number;
  /** Weight of the KL to the base model (model.path) and its estimator; 0 turns it off. */
  klCoef: number;
  klKind: KlKind;
  /** Where the KL goes: a term of the loss, or taken off the rewards token by token (always k1). */
  klIn: "loss" | "reward";
  /** KL per token that the coefficient is adapted to, and over how many rollouts; a target of 0 keeps it fixed. */
  klTarget: number;
  klHorizon: number;
  entropyCoef: number;
  /** The ratio's denominator: what the sampler recorded, or the weights before the update, scored again. */
  oldLogprobs: "sampler" | "recomputed";
  /** Importance weights from sampler to trainer: what one belongs to, how it is bounded; "none" turns them off. */
  correction: "none" | "token" | "sequence" | "geometric";
  correctionBound: "truncate" | "mask";
  correctionLow: number;
  correctionHigh: number;
  /** Divide the weights by their mean. */
  correctionNormalise: boolean;
  /** Statistics by which tokens or rows are left out, with their bounds. */
  rejections: Rejection[];
  /** Leaves out rows of negative advantage whose mean log-probability fell by more than this; 0 turns it off. */
  opsmDelta: number;
  /** Optimizer steps of one pass over an update's rollouts, what is never split between them, and passes. */
  miniBatches: number;
  miniBatchBy: "rollout" | "group";
  epochs: number;
  /**
   * "separate": a critic of its own, which starts from the base model; "head": a value head on each policy's own hidden
   * states, learnt in the policy's own step. Estimators such as gae need one of them.
   */
  critic: "none" | "separate" | "head";
  /** Of the separate critic, or of the value head's own weights. */
  criticLearningRate: number;
  /** How far a value may move from the old one before its loss is clipped; 0 turns the clip off. */
  valueClip: number;
  /** With a value head: the factor of its loss, and whether the gradient goes on into the policy's weights. */
  valueCoef: number;
  valueGradient: "policy" | "head";
  /** Updates in which only the critic learns; without one the policy learns in all, whatever this says. */
  criticWarmup: number;
  /** What becomes of rollouts that failed, timed out or ran out of tokens, and of the rest of their group. */
  failed: "keep" | "exclude";
  timedOut: "keep" | "exclude";
  overlong: "keep" | "exclude";
  incompleteGroup: "keep" | "exclude";
  /** Rollouts with tokens older than this many versions are left out; 0 keeps all. */
  maxAge: number;
  /** Groups of equal rewards: counted in the denominators, left out of them, or replaced by other tasks' groups. */
  zeroVariance: "keep" | "exclude" | "refill";
  /** Order of the tasks: as the dataset gives them, or those neither always nor never solved more often. */
  taskSampling: "stream" | "difficulty";
  learningRate: number;
  beta1: number;
  beta2: number;
  eps: number;
  weightDecay: number;
  /** 0 turns gradient clipping off. */
  maxGradNorm: number;
  /** Tokens of one micro-batch; 0 lets the memory plan choose. */
  microBatchTokens: number;
  /** Lowest blocks whose inner tensors the backward pass computes again; "auto": as many as the memory asks for. */
  recomputedLayers: number | "auto";
  /** How AdamW's moments are held: f32, or in 8 bits with a scale per 64 (a quarter of the memory, a little noise). */
  optimizerStates: "f32" | "int8";
  /** Rank of the LoRA adapter that is trained in place of the weights; 0 trains all weights. */
  loraRank: number;
  /** The adapter's factor is loraAlpha / loraRank, or loraAlpha / sqrt(loraRank) with rank stabilisation. */
  loraAlpha: number;
  /** Linear layers that get an adapter, as PEFT's target_modules: names, or "all-linear". */
  loraTargets: "all-linear" | string[];
  /** Rank stabilisation (rsLoRA). */
  rslora: boolean;
  /**
   * Names of several adapters that are trained side by side, each on the calls that asked for it by model name; any other
   * name means the first. Empty: one, under model.name.
   */
  policies: string[];
  /** Reward of a rollout without one: a number, or "drop" to leave it out of its group. */
  missingReward: number | "drop";
}

const count = z.number().int().min(0);
const number = z.number().min(0);
const positive = z.number().int().min(1);
const options = z.record(z.string(), z.unknown());

/** Beyond these the lists of an update's groups and rollouts, and an adapter's matrices, fit in no device's memory. */
const mostTasks = 65_536;
const mostRollouts = 4_096;
const mostRank = 8_192;

/** Defaults are GRPO by rollouts with one optimizer step per update. */
export const trainSchema: z.ZodType<TrainConfig, unknown> = z.strictObject({
  updates: count.default(10),
  tasksPerUpdate: positive.max(mostTasks).default(8),
  groupSize: positive.max(mostRollouts).default(8),
  temperature: z.number().positive().default(1),
  advantage: z.string().default("grpo"),
  advantageOptions: options.default({}),
  level: z.enum(["rollout", "call", "agent", "row"]).default("rollout"),
  callDiscount: z.number().min(0).max(1).default(1),
  view: z.enum(["trie", "trajectory", "transition", "rows_best_prefix"]).default("trie"),
  normalisation: z.string().default("rollout"),
  normalisationLength: count.default(0),
  loss: z.enum(["ppo", "gspo", "gmpo", "cispo", "sapo", "dppo_tv", "reinforce", "dro"]).default("ppo"),
  lossOptions: z
    .strictObject({
      cap: number.optional(),
      tauPositive: number.optional(),
      tauNegative: number.optional(),
      beta: number.optional(),
    })
    .default({}),
  ratioOf: z.enum(["row", "rollout"]).default("row"),
  clipLow: z.union([number, z.literal("auto")]).default("auto"),
  clipHigh: z.union([number, z.literal("auto")]).default("auto"),
  dualClip: z.number().min(0).default(3),
  klCoef: z.number().min(0).default(0),
  klKind: z.enum(["k1", "abs", "k2", "k3", "k3_noclamp", "k1+", "k3+"]).default("k3"),
  klIn: z.enum(["loss", "reward"]).default("loss"),
  klTarget: z.number().min(0).default(0),
  klHorizon: z.number().positive().default(10000),
  entropyCoef: z.number().default(0),
  oldLogprobs: z.enum(["sampler", "recomputed"]).default("sampler"),
  correction: z.enum(["none", "token", "sequence", "geometric"]).default("none"),
  correctionBound: z.enum(["truncate", "mask"]).default("truncate"),
  correctionLow: z.number().min(0).default(0.5),
  correctionHigh: z.number().positive().default(2),
  correctionNormalise: z.boolean().default(false),
  rejections: z
    .array(z.strictObject({ kind: z.string(), upper: z.number().positive(), lower: z.number().min(0).optional() }))
    .default([]),
  opsmDelta: z.number().min(0).default(0),
  miniBatches: positive.default(1),
  miniBatchBy: z.enum(["rollout", "group"]).default("rollout"),
  epochs: positive.default(1),
  critic: z.enum(["none", "separate", "head"]).default("none"),
  criticLearningRate: z.number().min(0).default(1e-3),
  valueClip: z.number().min(0).default(0.5),
  valueCoef: z.number().positive().default(0.5),
  valueGradient: z.enum(["policy", "head"]).default("policy"),
  criticWarmup: count.default(0),
  failed: z.enum(["keep", "exclude"]).default("keep"),
  timedOut: z.enum(["keep", "exclude"]).default("keep"),
  overlong: z.enum(["keep", "exclude"]).default("keep"),
  incompleteGroup: z.enum(["keep", "exclude"]).default("keep"),
  maxAge: count.default(0),
  zeroVariance: z.enum(["keep", "exclude", "refill"]).default("keep"),
  taskSampling: z.enum(["stream", "difficulty"]).default("stream"),
  learningRate: z.number().min(0).default(1e-3),
  beta1: z.number().min(0).lt(1).default(0.9),
  beta2: z.number().min(0).lt(1).default(0.95),
  eps: z.number().positive().default(1e-8),
  weightDecay: z.number().min(0).default(0),
  maxGradNorm: z.number().min(0).default(1),
  microBatchTokens: count.default(0),
  recomputedLayers: z.union([count, z.literal("auto")]).default("auto"),
  optimizerStates: z.enum(["f32", "int8"]).default("f32"),
  loraRank: count.max(mostRank).default(0),
  loraAlpha: z.number().positive().default(32),
  loraTargets: z.union([z.literal("all-linear"), z.array(z.string().min(1)).min(1)]).default("all-linear"),
  rslora: z.boolean().default(false),
  policies: z.array(z.string().min(1)).default([]),
  missingReward: z.union([z.number(), z.literal("drop")]).default(0),
});
