/** One experiment's configuration: plain JSON, two levels. Datasets, graders and hooks are named modules. */
import { z } from "zod";
import { type TrainConfig, trainSchema } from "./train_config.ts";

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
  /** How keys and values are held: f32, or f16, which takes half the memory and changes log-probabilities a little. */
  kvFormat: "f32" | "f16";
  /** How the matrices of a model that is not trained itself are held: under LoRA, or when serving. */
  weights: "f32" | "f16" | "int8";
  /** Bytes of device memory to plan for; 0 takes the default: 2 GiB on a software adapter, else 4 GiB. */
  memoryBytes: number;
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
    kvFormat: z.enum(["f32", "f16"]).default("f32"),
    weights: z.enum(["f32", "f16", "int8"]).default("f32"),
    memoryBytes: count.default(0),
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
  train: trainSchema.prefault({}),
  schedule: z
    .strictObject({
      mode: z.enum(["sync", "collocated", "interleaved"]).default("sync"),
      activeGroups: count.default(0),
      maxAge: count.default(4),
      inFlight: z.enum(["keep", "recompute"]).default("keep"),
      stepsPerQuantum: positive.default(8),
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
