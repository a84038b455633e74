import type { DecodeWork, PrefillPart } from "../infer/batch_former.ts";
import type { Drawn } from "../infer/runner.ts";
import type { DecodeText } from "../infer/stops.ts";
import type {
  AccumulateRequest,
  AccumulateResult,
  EngineInfo,
  EngineSnapshot,
  ScoreRequest,
  ScoreResult,
  UpdateRequest,
  UpdateResult,
} from "../schema/engine.ts";
import type { CriticResult, CriticUpdateRequest, ScoreRowsRequest, ScoreRowsResult } from "../schema/row_scores.ts";
import type { ConstraintCompiler } from "../schema/token_constraint.ts";

/** The model's state as bytes: what is needed to continue on a fresh device. */
export type ModelState = Pick<EngineSnapshot, "files" | "weightsSha256" | "optimizerSteps">;

/** Numbers of a pass over rows. */
export type Gradients = Omit<AccumulateResult, "version">;

/** How gradients are computed. */
export interface GradientOptions {
  /** Called between quanta of device work; others may use the device until it resolves. */
  readonly between?: () => Promise<void>;
  /** Makes a gradient be no number, for tests. */
  readonly fault: "nan-grad" | null;
}

/** A model on an open device. One call at a time; a lost device makes every call throw DeviceError "device_lost". */
export interface EngineParts {
  readonly info: Omit<EngineInfo, "version">;
  /** Pages of the key-value cache. */
  readonly pageCount: number;
  readonly decodeText: DecodeText;
  /** Makes what replies must match; absent where there is no tokenizer. */
  readonly constraints?: ConstraintCompiler | undefined;
  /** Computes the parts; the result has one entry per part, empty where nothing was sampled. */
  prefill(parts: readonly PrefillPart[]): Promise<Drawn[]>;
  /** Draws `work.steps` tokens per sequence; one entry per sequence. */
  decode(work: DecodeWork): Promise<Drawn[]>;
  score(request: ScoreRequest): Promise<ScoreResult>;
  scoreRows(request: ScoreRowsRequest): Promise<ScoreRowsResult>;
  updateCritic(request: CriticUpdateRequest): Promise<CriticResult>;
  /** Drops the gradients collected since the last step: an adapter's as a request names it, or all (null). */
  clearGradients(adapter: string | undefined | null): void;
  /** Adds gradients of rows to those collected since the last step; nothing is added when rows are malformed. */
  accumulate(
    request: Pick<AccumulateRequest, "rows" | "loss" | "value" | "adapter">,
    options: GradientOptions,
  ): Promise<Gradients>;
  /** One optimizer step on the request's rows, and on what was collected if it says so. */
  step(request: UpdateRequest): Promise<Omit<UpdateResult, "version" | "drainMs">>;
  snapshot(options: { optimizer: boolean }): Promise<ModelState>;
  /** Makes the device be lost, for tests. */
  loseDevice(): void;
  dispose(): void;
}

/** Files of a state that only further training takes: moments, and whatever values states. */
const ofTraining = /(^|\/)(value_head_)?optimizer\.safetensors$|(^|\/)value_head\.safetensors$|^critic\//;

/**
 * A state as a snapshot was asked for: without what only training takes unless it is wanted. Weights change in updates
 * alone and each update keeps the state it left, so nothing is read back from the device a second time.
 */
export function stateFor({ optimizer }: { optimizer: boolean }, state: ModelState): ModelState {
  if (optimizer) return state;
  const kept = Object.entries(state.files).filter(([name]) => !ofTraining.test(name));
  return { ...state, files: Object.fromEntries(kept) };
}
