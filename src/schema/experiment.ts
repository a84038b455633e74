/** One experiment's configuration: plain JSON, two levels. Datasets, graders and hooks are named modules. */
import { z } from "zod";
import type { KlKind } from "./engine.ts";

/** The policy and how it is served. */
export interface ModelConfig {
  /** Folder of the base model (Hugging Face layout), relative to the configuration file. */
  path: string;
  /** Seed of random weights, for a folder that has none; 0 takes the folder's. */
  randomSeed: number;
  /** Name agents see; any unknown name means the policy too. */
  name: string;
  /** Longest prompt plus reply in tokens; 0 takes the model's own. */
  contextLength: number;
  /** Tokens the key-value cache holds. */
  kvTokens: number;
  /** Sequences decoded at once. */
  maxSequences: number;
  /** Prompt tokens of one prefill step. */
  prefillTokens: number;
  /** Decode steps between two readbacks. */
  burst: number;
}

/** Where tasks come from. */
export interface TaskConfig {
  /** Module that exports `dataset: Dataset`, relative to the configuration file. */
  dataset: string;
}

/** How the agent is run and judged: an AgentCommand with its limits. Paths are relative to the configuration file. */
export interface RolloutSettings {
  /** The agent's command line, with placeholders such as {input.question}; see AgentCommand. Empty with `completion`. */
  command: string[];
  /** Module that exports `completion: CompletionTask`, for tasks that one reply answers without an agent; or empty. */
  completion: string;
  cwd?: string;
  env?: Record<string, string>;
  envMap?: Record<string, string>;
  stdin?: string;
  workspace?: string;
  /** Which of this process' variables the agent sees. */
  inheritEnv: "all" | "none" | string[];
  /** Module that exports `prepare`, run once before the first agent (to bundle it, say), or empty. */
  prepare: string;
  /** Agents at once. */
  concurrency: number;
  /** Agents that may be starting at once, so that start-up does not starve the device. */
  startConcurrency: number;
  /** Scheduling priority given away by agents (Unix nice), so that the device comes first. */
  nice: number;
  /** Seconds an attempt may run, may wait for a place, and may be silent; 0 means no limit. */
  timeoutSeconds: number;
  queueSeconds: number;
  silenceSeconds: number;
  /** Bytes of stdout and stderr together; an agent that writes more is killed. */
  outputBytes: number;
  /** Further attempts after failures of the machine; an agent's own failures are its result. */
  retries: number;
  /** Who decides the reward. */
  reward: "grader" | "exit" | "agent";
  /** Name of a grader, and its options. */
  grader: string;
  graderOptions: Record<string, unknown>;
  /** Module that exports hooks, or empty. */
  hooks: string;
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
  clipLow: number;
  clipHigh: number;
  /** Bound of the dual clip; 0 turns it off. */
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
  /** "separate": a critic of its own, which starts from the base model; estimators such as gae need one. */
  critic: "none" | "separate";
  criticLearningRate: number;
  /** How far a value may move from the old one before its loss is clipped; 0 turns the clip off. */
  valueClip: number;
  /** Updates in which only the critic learns. */
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
  /** Reward of a rollout without one: a number, or "drop" to leave it out of its group. */
  missingReward: number | "drop";
}

/** What the device does when. */
export interface ScheduleConfig {
  /**
   * `sync`: an update's groups finish before the next ones start. `collocated`: more groups are active, and an update
   * waits for calls in flight. `interleaved`: gradients are computed between their bursts, and calls go on over updates.
   */
  mode: "sync" | "collocated" | "interleaved";
  /** Groups active at once outside sync mode; at least tasksPerUpdate + 1, 0 takes twice tasksPerUpdate. */
  activeGroups: number;
  /** Most updates between a group's start and the one that trains it: kept by starting and training, never by discarding. */
  maxAge: number;
  /** Interleaved: sequences in flight over an update keep their keys and values, or compute them anew. */
  inFlight: "keep" | "recompute";
  /** Interleaved: steps of inference that may go before a waiting quantum of training. */
  stepsPerQuantum: number;
}

/** Validation on held-out tasks. */
export interface EvalConfig {
  /** Updates between validations; 0 never. */
  every: number;
  /** Held-out tasks used; 0 means all. */
  tasks: number;
  samples: number;
  temperature: number;
}

/** What is kept on disk. */
export interface StoreConfig {
  kind: "sqlite" | "memory";
  /** Updates between checkpoints. */
  checkpointEvery: number;
  /** Checkpoints kept; older ones are removed. */
  keep: number;
}

/** One experiment. */
export interface ExperimentConfig {
  seed: number;
  model: ModelConfig;
  task: TaskConfig;
  rollout: RolloutSettings;
  train: TrainConfig;
  schedule: ScheduleConfig;
  eval: EvalConfig;
  store: StoreConfig;
}

/** A configuration as people write it: whatever has a default may be left out. */
export type ExperimentInput = {
  readonly [K in keyof ExperimentConfig]?: ExperimentConfig[K] extends object
    ? Partial<ExperimentConfig[K]>
    : ExperimentConfig[K];
};

const count = z.number().int().min(0);
const positive = z.number().int().min(1);
const seconds = z.number().min(0);
const names = z.record(z.string(), z.string());
const options = z.record(z.string(), z.unknown());

/** Defaults are those of a small run on a laptop; every section may be left out but `model.path` and the command. */
export const experimentSchema: z.ZodType<ExperimentConfig> = z.strictObject({
  seed: count.default(1),
  model: z.strictObject({
    path: z.string().min(1),
    randomSeed: count.default(0),
    name: z.string().min(1).default("policy"),
    contextLength: count.default(0),
    kvTokens: positive.default(16384),
    maxSequences: positive.default(64),
    prefillTokens: positive.default(512),
    burst: positive.default(4),
  }),
  task: z.strictObject({ dataset: z.string().min(1) }),
  rollout: z.strictObject({
    command: z.array(z.string()).default([]),
    completion: z.string().default(""),
    cwd: z.string().optional(),
    env: names.optional(),
    envMap: names.optional(),
    stdin: z.string().optional(),
    workspace: z.string().optional(),
    inheritEnv: z.union([z.enum(["all", "none"]), z.array(z.string())]).default("all"),
    prepare: z.string().default(""),
    concurrency: positive.default(16),
    startConcurrency: positive.default(2),
    nice: z.number().int().min(0).max(19).default(0),
    timeoutSeconds: seconds.default(300),
    queueSeconds: seconds.default(0),
    silenceSeconds: seconds.default(120),
    outputBytes: positive.default(1 << 20),
    retries: count.default(2),
    reward: z.enum(["grader", "exit", "agent"]).default("grader"),
    grader: z.string().default("exact"),
    graderOptions: options.default({}),
    hooks: z.string().default(""),
  }),
  train: z
    .strictObject({
      updates: count.default(10),
      tasksPerUpdate: positive.default(8),
      groupSize: positive.default(8),
      temperature: z.number().positive().default(1),
      advantage: z.string().default("grpo"),
      advantageOptions: options.default({}),
      level: z.enum(["rollout", "call", "agent", "row"]).default("rollout"),
      callDiscount: z.number().min(0).max(1).default(1),
      view: z.enum(["trie", "trajectory", "transition", "rows_best_prefix"]).default("trie"),
      normalisation: z.string().default("rollout"),
      normalisationLength: count.default(0),
      clipLow: z.number().min(0).default(0.2),
      clipHigh: z.number().min(0).default(0.28),
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
      critic: z.enum(["none", "separate"]).default("none"),
      criticLearningRate: z.number().min(0).default(1e-3),
      valueClip: z.number().min(0).default(0.5),
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
      missingReward: z.union([z.number(), z.literal("drop")]).default(0),
    })
    .prefault({}),
  schedule: z
    .strictObject({
      mode: z.enum(["sync", "collocated", "interleaved"]).default("sync"),
      activeGroups: count.default(0),
      maxAge: count.default(4),
      inFlight: z.enum(["keep", "recompute"]).default("keep"),
      stepsPerQuantum: positive.default(4),
    })
    .prefault({}),
  eval: z
    .strictObject({
      every: count.default(0),
      tasks: count.default(0),
      samples: positive.default(1),
      temperature: z.number().min(0).default(1),
    })
    .prefault({}),
  store: z
    .strictObject({
      kind: z.enum(["sqlite", "memory"]).default("sqlite"),
      checkpointEvery: positive.default(1),
      keep: positive.default(2),
    })
    .prefault({}),
});
