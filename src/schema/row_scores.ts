/** What the engine's models say of training rows, and the critic's own steps. */
import type { SkipReason, TrainRow } from "./engine.ts";
import type { OptimizerConfig } from "./loss.ts";

/** What the engine's models say of the records of training rows, before anything is learnt from them. */
export interface ScoreRowsRequest {
  id: string;
  /** Adapter that computes it; by default the engine's first, or the model itself where there is none. */
  adapter?: string;
  rows: readonly TrainRow[];
  temperature: number;
  /** Which models are asked: the policy as it is now, the reference policy, the critic (or value head). */
  policy: boolean;
  reference: boolean;
  values: boolean;
}

/** Record by record, row by row; null where the model was not asked. */
export interface ScoreRowsResult {
  logprobs: Float32Array | null;
  entropies: Float32Array | null;
  refLogprobs: Float32Array | null;
  values: Float32Array | null;
  /** Milliseconds that each model took; null where it was not asked. A value head answers in the policy's own pass. */
  ms: Readonly<Record<"policy" | "reference" | "values", number | null>>;
}

/**
 * One optimizer step of the critic, the policy as it is: the clipped value loss under the records' weights. A value head
 * on the policy's own hidden states steps without them.
 */
export interface CriticUpdateRequest {
  id: string;
  /** Policy whose value head it is, where each has its own; default as in other requests. */
  adapter?: string;
  rows: readonly TrainRow[];
  optimizer: OptimizerConfig;
  /** How far a value may move from the old one before its loss is clipped; 0 turns the clip off. */
  clipRange: number;
}

/** Numbers of one step of the critic. */
export interface CriticResult {
  skipped: SkipReason | null;
  /** Sum over records of weight * value loss. */
  loss: number;
  gradNorm: number;
  /** Share of records whose value loss was clipped. */
  clipFrac: number;
  /** Time the device spent on it. */
  trainMs: number;
}
