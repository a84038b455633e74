/**
 * The engine's message interface: plain data and typed arrays only, so that the same calls cross a worker boundary
 * (structured clone) or stay in process. Every long call names an id; `cancel(id)` ends it.
 */

import type { DeviceTimeline } from "./device_timeline.ts";
import type { LossConfig, OptimizerConfig, ValueLossConfig } from "./loss.ts";
import type { CriticResult, CriticUpdateRequest, ScoreRowsRequest, ScoreRowsResult } from "./row_scores.ts";

import type { ConstraintSpec } from "./token_constraint.ts";

/** How next tokens are drawn. Temperature divides the logits before everything else; 0 means greedy. */
export interface Sampling {
  temperature: number;
  /** Keep the k most likely tokens; 0 keeps all. */
  topK: number;
  /** Keep the smallest set of most likely tokens whose probability reaches topP; 1 keeps all. */
  topP: number;
  /** Drop tokens less likely than minP times the most likely one; 0 keeps all. */
  minP: number;
}

/**
 * What is done to the logits before the temperature divides them: repetition penalty, then frequency and presence
 * penalties, then bias. Absent fields change nothing. Source: OpenAI's API; repetition: Keskar et al. 2019
 * (arXiv:1909.05858).
 */
export interface LogitAdjustments {
  /** Taken from a token's logit for each time the reply holds it. */
  frequencyPenalty?: number;
  /** Taken from the logit of each token that the reply holds. */
  presencePenalty?: number;
  /** Divides the positive and multiplies the negative logits of tokens that prompt or reply hold; more than 0. */
  repetitionPenalty?: number;
  /** Added to logits: token id and bias, each id at most once. */
  logitBias?: readonly (readonly [id: number, bias: number])[];
}

/** One generation from token ids to token ids. */
export interface GenerateRequest {
  id: string;
  /** Adapter that computes it; by default the engine's first, or the model itself where there is none. */
  adapter?: string;
  /** Prompt token ids, at least one. */
  promptIds: Int32Array;
  maxTokens: number;
  sampling: Sampling;
  /** Absent changes nothing. */
  adjustments?: LogitAdjustments;
  /** Key of this call's random stream: (experiment, rollout, call); draw n uses counter n. */
  key: readonly [number, number];
  /** Any of these ids ends the generation; the id itself is kept as the last sampled token. */
  stopIds: readonly number[];
  /** Any of these texts ends the generation; tokens after the one that completed it are dropped, never recorded. */
  stopStrings: readonly string[];
  /**
   * Tokens forced one by one instead of sampled (scripted policy). Their log-probabilities are the model's own at this
   * temperature, without truncation, penalties, bias or constraint. After the last of them tokens are sampled.
   */
  forcedIds?: Int32Array;
  /** How many of the likeliest tokens to report at each place, 0 to 20; absent is 0. */
  topLogprobs?: number;
  /** What the reply must match; absent means anything. */
  constraint?: ConstraintSpec;
}

/** The likeliest tokens at each place of a reply, most likely first; equal ones by lower id. */
export interface TopLogprobs {
  /** Tokens per place. */
  count: number;
  /** (places * count) token ids; -1 where fewer tokens have any probability. */
  ids: Int32Array;
  /** (places * count) natural logs of their probabilities under the distribution that was sampled from. */
  logprobs: Float32Array;
}

/** What was drawn. `ids`, `logprobs` and `versions` have one length. */
export interface GenerateResult {
  id: string;
  ids: Int32Array;
  /** Natural log of the probability under the distribution each id was sampled from. */
  logprobs: Float32Array;
  /** Policy version whose weights computed each token's distribution. */
  versions: Int32Array;
  finishReason: "stop" | "length" | "cancelled";
  /** The stop id or stop string that ended it. */
  stopped?: number | string;
  /** Prompt tokens whose keys and values came from the cache. */
  cachedTokens: number;
  /**
   * True when the distribution was not the model's own at this temperature (top-k, top-p, min-p, penalties, bias) and
   * logprobs are of the one that was sampled from.
   */
  truncated: boolean;
  /** True when at least one token was drawn under a constraint's mask, its logprob being of the masked distribution. */
  constrained?: boolean;
  /** Present when the request asked for them. */
  topLogprobs?: TopLogprobs;
}

/** Log-probabilities of given tokens under the current weights. */
export interface ScoreRequest {
  id: string;
  /** Adapter that computes it; by default the engine's first, or the model itself where there is none. */
  adapter?: string;
  ids: Int32Array;
  temperature: number;
}

/** logprobs[t] belongs to ids[t] given ids[0..t-1]; logprobs[0] and entropies[0] are 0. */
export interface ScoreResult {
  logprobs: Float32Array;
  entropies: Float32Array;
}

/**
 * One row of a training batch: a packed token sequence and its prediction records. Record r predicts `target[r]` from
 * the hidden state at row-local position `src[r]`. In a plain row src = t and target = ids[t + 1].
 */
export interface TrainRow {
  ids: Int32Array;
  /** Position of each token for RoPE; default 0..length-1. */
  pos?: Int32Array;
  /** One past the last token that may see each token (a tree's subtree end); default: the row's length. */
  end?: Int32Array;
  src: Int32Array;
  target: Int32Array;
  /** Factor of the record's loss in the step's sum: all normalisation is in here, global over the step. */
  weight: Float32Array;
  advantage: Float32Array;
  /** Log-probability under the policy the ratio is taken against (the sampler's, or a recomputed one). */
  oldLogprob: Float32Array;
  /** Log-probability under the reference policy, where a KL term is on. */
  refLogprob?: Float32Array;
  /**
   * Sequence of each record, a number that the whole step shares, for losses that couple the tokens of a sequence (gspo,
   * gmpo); default: every row is one.
   */
  unit?: Int32Array;
  /** What the critic said of the state before each record's token, and what it should say; where a critic learns. */
  oldValue?: Float32Array;
  returns?: Float32Array;
}

/** Rows whose gradients are added to those of the next optimizer step, before it is asked for. */
export interface AccumulateRequest {
  id: string;
  /** Adapter that computes it; by default the engine's first, or the model itself where there is none. */
  adapter?: string;
  rows: readonly TrainRow[];
  loss: LossConfig;
  /** The value loss of the policy's own head, where it has one: rows hold values and returns then. */
  value?: ValueLossConfig;
}

/** Numbers of accumulated rows; `loss` and means are over these rows alone. */
export type AccumulateResult = Omit<UpdateResult, "skipped" | "gradNorm" | "drainMs">;

/** One optimizer step. The engine splits rows into micro-batches; the split cannot change the result's meaning. */
export interface UpdateRequest {
  id: string;
  /** Adapter that computes it; by default the engine's first, or the model itself where there is none. */
  adapter?: string;
  rows: readonly TrainRow[];
  loss: LossConfig;
  /** The value loss of the policy's own head, where it has one: rows hold values and returns then. */
  value?: ValueLossConfig;
  optimizer: OptimizerConfig;
  /** True: `rows` come on top of what `accumulate` collected since the last step, which is dropped otherwise. */
  accumulated?: boolean;
  /** Factor of all gradients and of the reported loss: what normalises a step collected in parts. Default 1. */
  gradientScale?: number;
}

/** Why an optimizer step changed nothing. */
export type SkipReason = "nan_gradient" | "empty_batch";

/** Numbers of one optimizer step, over all its prediction records. */
export interface UpdateResult {
  /** Version after the step (unchanged when skipped). */
  version: number;
  skipped: SkipReason | null;
  /** Sum over records of weight * loss, KL and entropy terms included. */
  loss: number;
  /** The same without these terms. */
  pgLoss: number;
  gradNorm: number;
  /** Means over records with non-zero weight. */
  entropy: number;
  clipFrac: number;
  dualClipFrac: number;
  /** k1 estimate: mean of oldLogprob - logprob. */
  approxKl: number;
  /** Largest |logprob - oldLogprob|. */
  logprobDiffMax: number;
  /** Mean estimate of the KL to the reference policy, where the loss has that term. */
  kl?: number;
  /** Sum of weight * value loss, without its coefficient, and the share that was clipped; where a value head learns. */
  value?: { loss: number; clipFrac: number };
  /** Number of prediction records. */
  tokens: number;
  /** Tokens that went through the model. */
  computedTokens: number;
  /** Current log-probability of every record, row by row, before the step. */
  logprobs: Float32Array;
  /** Time the device spent on it. */
  trainMs: number;
  /** How much of that the reference policy took, where the loss has a KL to it. */
  referenceMs?: number;
  /** How long new sequences were held back for those in flight to end; 0 where an update does not wait for them. */
  drainMs: number;
}

/** What a harness or a person may want to know about the running engine. */
export interface EngineInfo {
  adapter: string;
  deviceClass: "software" | "gpu";
  family: string;
  parameters: number;
  vocabSize: number;
  /** Tokens the model or its cache can hold: prompt plus reply, but for a last token that nothing follows. */
  contextLength: number;
  /** Longest training row in tokens; 0 when the engine does not train. */
  microBatchTokens: number;
  version: number;
  /** How long opening took: the device, and the model with all that is loaded beside it. */
  openSeconds?: { readonly device: number; readonly model: number };
  /** Names of its adapters, the default first; absent when there are none. */
  adapters?: readonly string[];
}

/** Where the device's time went since the engine opened, in seconds; they add up to the elapsed time. */
export interface DeviceTime {
  prefill: number;
  decode: number;
  /** Forward and backward passes of training, reference policy included, and the steps of a critic by itself. */
  train: number;
  /** Optimizer steps, with reading back the state they leave. */
  optimizer: number;
  score: number;
  idle: number;
}

/** Counters for metrics and tests. */
export interface EngineStats {
  deviceSeconds: DeviceTime;
  promptTokens: number;
  cachedTokens: number;
  sampledTokens: number;
  decodeSteps: number;
  activeSequences: number;
  queuedSequences: number;
  deviceLosses: number;
}

/** Files of a checkpoint as bytes: model.safetensors (f32), optimizer.safetensors, config.json. */
export interface EngineSnapshot {
  version: number;
  optimizerSteps: number;
  files: Record<string, Uint8Array>;
  /** SHA-256 over tensors sorted by name: name, dtype, shape, bytes. */
  weightsSha256: string;
}

/** The device with its model. */
export interface Engine {
  info(): Promise<EngineInfo>;
  stats(): Promise<EngineStats>;
  /** What the device did when, from number `after` on; absent where no device is. */
  timeline?(after: number): Promise<DeviceTimeline>;
  /** @throws LeydenError "context_length_exceeded" when prompt plus one token do not fit. */
  generate(request: GenerateRequest): Promise<GenerateResult>;
  score(request: ScoreRequest): Promise<ScoreResult>;
  /** @throws LeydenError "train_row", "train_row_too_long"; "no_reference" or "no_critic" when it was opened without. */
  scoreRows(request: ScoreRowsRequest): Promise<ScoreRowsResult>;
  /** The critic is beside the policy: its step changes no version. @throws as scoreRows */
  updateCritic(request: CriticUpdateRequest): Promise<CriticResult>;
  /**
   * Adds gradients of rows to the next optimizer step, at the present weights, in quanta between other work.
   * Requests to accumulate and to update are served in the order they came in.
   */
  accumulate(request: AccumulateRequest): Promise<AccumulateResult>;
  /**
   * Takes one optimizer step and publishes the new version: once no sequence is in flight when the engine was opened
   * with inFlight "drain"; else between two bursts, after which sequences in flight go on.
   */
  update(request: UpdateRequest): Promise<UpdateResult>;
  /** Holds new generations until `resume`; resolves when those in flight have ended. */
  drain(): Promise<void>;
  resume(): Promise<void>;
  snapshot(options: { optimizer: boolean }): Promise<EngineSnapshot>;
  /** Ends the generation with finishReason "cancelled"; unknown ids are ignored. */
  cancel(id: string): Promise<void>;
  close(): Promise<void>;
}
