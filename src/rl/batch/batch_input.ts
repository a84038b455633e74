import type { BreakReason } from "../../schema/chat.ts";
import type { TrainRow } from "../../schema/engine.ts";
import type { AdvantageConfig } from "../advantages/registry.ts";
import type { TokenAdvantageConfig } from "../advantages/token_registry.ts";
import type { RowLimits } from "../agent_lightning/rows.ts";
import type { Call } from "../call.ts";
import type { RejectionOptions } from "../correction/rejection.ts";
import type { CorrectionOptions } from "../correction/weights.ts";
import type { Numbers } from "../masked.ts";
import type { Normalisation, RowShare } from "../normalisation.ts";
import type { LinearViewName } from "../views/linear_views.ts";

/** A recorded call of a rollout. */
export interface CallRecord extends Call {
  /** Call key (DESIGN 5): equal in every run of the same experiment, whatever arrived first. */
  key: string;
  /** Why the call is not trained (a side call, another model, an abandoned answer); absent when it is. */
  excluded?: string;
  /** The distribution was truncated or constrained, so its log-probabilities are not the policy's own. */
  constrained?: boolean;
  /** Why it continues no earlier call; null or absent when it does, or is its attempt's first. */
  breakReason?: BreakReason | null;
  /** The reply ran out of tokens before the policy ended it. */
  cutOff?: boolean;
  /** Name of the policy that answered, where several are trained. */
  policy?: string;
  /** Who made the call, where a rollout has several agents; calls of one agent are compared with each other. */
  agent?: string;
  /**
   * What the call itself earned. Where a call of a rollout has rewards of its own, these are given out, and the
   * rollout's reward is a summary of them.
   */
  reward?: number;
  /** What each sampled token earned, (replyIds); finer than `reward`. */
  tokenRewards?: Numbers;
}

/** One rollout with what it earned. */
export interface RolloutRecord {
  id: string;
  /** The attempt that counts; calls of other attempts are left out. */
  attempt: string;
  status: "succeeded" | "failed" | "timed_out";
  /** null when no grader and no agent gave one; NaN and what is too large for a reward (isReward) count as missing. */
  reward: number | null;
  /** What each agent of the rollout earned, by name, where that differs from the rollout's reward. */
  agentRewards?: Readonly<Record<string, number>>;
  /** Reward events that gave nothing: of no number, or for a call or an agent that it does not have. */
  ignoredRewards?: number;
  /** In order of arrival: only Agent Lightning's views depend on it. */
  calls: readonly CallRecord[];
}

/** Rollouts of one task that are compared with each other. */
export interface GroupRecord {
  /** Unique in the batch; a task that was drawn twice is two groups. */
  id: string;
  task: string;
  rollouts: readonly RolloutRecord[];
  /** Rollouts that were started; default: those given. */
  expected?: number;
  /** Reward of a greedy rollout of the task, for ReMax. */
  greedyReward?: number;
}

/** How rollouts become a training batch. */
export interface BatchOptions {
  /** "trie" computes shared prefixes once and never drops a sample; the others are linear rows. */
  view: "trie" | LinearViewName;
  advantage: AdvantageConfig | TokenAdvantageConfig;
  /**
   * What gets one advantage of a scalar estimator: the rollout; each call, with what it and the calls that continue it
   * earned; each agent of a rollout; or, for comparison, each row.
   */
  level: "rollout" | "call" | "agent" | "row";
  /** At level "call": factor of what a continuing call earned. */
  callDiscount: number;
  normalisation: Normalisation;
  /** Constant of seq-mean-token-sum-norm, in tokens. */
  normalisationLength: number;
  /** A rollout without a reward gets `rewardFill`, is left out, or stops the run. */
  missingReward: "fill" | "exclude" | "error";
  rewardFill: number;
  /** Rollouts that failed or ran out of time: trained on what they did, or left out. */
  failed: "keep" | "exclude";
  timedOut: "keep" | "exclude";
  /** Rollouts with a reply that ran out of tokens. */
  overlong: "keep" | "exclude";
  /** Rollouts with a token more versions old than this are left out; 0 keeps all. */
  maxAge: number;
  /** Groups whose rewards are all equal: counted in the denominators, or left out of them. */
  zeroVariance: "keep" | "exclude";
  /** What losses that couple the tokens of a sequence take as one: a unit (row or lineage), or the whole rollout. */
  ratioOf: "row" | "rollout";
  /** A group that lost rollouts: trained on the rest, or left out as a whole. */
  incompleteGroup: "keep" | "exclude";
  /**
   * Leave out of the compute what has advantage 0; it stays in every count. For losses that it adds nothing to: none with
   * a KL, entropy or quadratic term. What others are measured against is computed all the same: the rest of a rollout
   * whose ratio is one, and every token where a correction divides by the mean weight. A step of which nothing is left
   * is not taken.
   */
  skipZeroAdvantage: boolean;
  /** Budget of one training row of the trie, in tokens. */
  maxRowTokens: number;
  /** Longest prompt and reply that the device can train, in tokens; longer calls are left out and counted. */
  maxCallTokens: number;
  /** Lengths that linear rows are cut to. */
  limits: RowLimits;
  /** Policy version that is being trained; ages count from it. */
  version: number;
  /** Optimizer steps the batch is split into, and what is never split. */
  miniBatches: number;
  miniBatchBy: "rollout" | "group";
  /** Decides which rollouts meet in a mini-batch. */
  seed: number;
  /** The ratio's denominator: what the sampler recorded, or the weights before the first step, scored again. */
  oldLogprobs: "sampler" | "recomputed";
  /** Weight of KL(policy || reference) taken off the rewards, token by token; 0 turns it off. */
  klInReward: number;
  /** Importance weights from the sampler to the recomputed policy; null for none. */
  correction: CorrectionOptions | null;
  /** Tokens and rows left out of the loss for having drifted too far from the sampler; they stay in the denominators. */
  rejections: readonly RejectionOptions[];
  /** Leaves out rows of negative advantage whose mean log-probability fell by more than this; 0 turns it off. */
  opsmDelta: number;
}

/** Rollout-level GRPO, Eq. 16, over the trie. */
export const batchDefaults: Readonly<BatchOptions> = {
  view: "trie",
  advantage: { estimator: "grpo" },
  level: "rollout",
  normalisation: "rollout",
  normalisationLength: 0,
  missingReward: "fill",
  rewardFill: 0,
  failed: "keep",
  timedOut: "keep",
  overlong: "keep",
  maxAge: 0,
  zeroVariance: "keep",
  ratioOf: "row",
  incompleteGroup: "keep",
  skipZeroAdvantage: true,
  maxRowTokens: Number.POSITIVE_INFINITY,
  maxCallTokens: Number.POSITIVE_INFINITY,
  limits: { maxPromptLength: Number.POSITIVE_INFINITY, maxResponseLength: Number.POSITIVE_INFINITY },
  version: 0,
  callDiscount: 1,
  miniBatches: 1,
  miniBatchBy: "rollout",
  seed: 0,
  oldLogprobs: "sampler",
  klInReward: 0,
  correction: null,
  rejections: [],
  opsmDelta: 0,
};

/** Where the records of a training row come from. */
export interface RowOrigin {
  group: string;
  calls: { rollout: string; call: string; unit: number }[];
  /** Index in `calls` of each record, and of its token among the call's sampled ones. */
  call: Int32Array;
  token: Int32Array;
}

/** What became of one rollout. */
export interface BatchRollout {
  id: string;
  group: string;
  task: string;
  reward: number;
  /** Mean over its tokens; the rollout's own at rollout level. */
  advantage: number;
  /** Sampled tokens in the denominators. */
  tokens: number;
  /** Rows of a linear view, or lineages of the trie. */
  rows: number;
}

/** An update's training rows; `origins` is parallel to `rows`. */
export interface Batch {
  rows: TrainRow[];
  origins: RowOrigin[];
  /** Rows [from, to) of each optimizer step, in order. */
  steps: { from: number; to: number }[];
  rollouts: BatchRollout[];
  /** The sequences that normalisation counts, trained or not. */
  units: readonly RowShare[];
  /** Under the names of metrics.jsonl. */
  metrics: Record<string, number>;
}
