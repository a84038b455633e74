import type { DecodeWork, PrefillPart } from "../infer/batch_former.ts";
import type { Drawn } from "../infer/runner.ts";
import type { DecodeText } from "../infer/stops.ts";
import type {
  EngineInfo,
  EngineSnapshot,
  ScoreRequest,
  ScoreResult,
  UpdateRequest,
  UpdateResult,
} from "../schema/engine.ts";

/** The model's state as bytes: what is needed to continue on a fresh device. */
export type ModelState = Pick<EngineSnapshot, "files" | "weightsSha256" | "optimizerSteps">;

/** A model on an open device. One call at a time; a lost device makes every call throw DeviceError "device_lost". */
export interface EngineParts {
  readonly info: Omit<EngineInfo, "version">;
  /** Pages of the key-value cache. */
  readonly pageCount: number;
  readonly decodeText: DecodeText;
  /** Computes the parts; the result has one entry per part, empty where nothing was sampled. */
  prefill(parts: readonly PrefillPart[]): Promise<Drawn[]>;
  /** Draws `work.steps` tokens per sequence; one entry per sequence. */
  decode(work: DecodeWork): Promise<Drawn[]>;
  score(request: ScoreRequest): Promise<ScoreResult>;
  update(request: UpdateRequest, fault: "nan-grad" | null): Promise<Omit<UpdateResult, "version">>;
  snapshot(options: { optimizer: boolean }): Promise<ModelState>;
  /** Makes the device be lost, for tests. */
  loseDevice(): void;
  dispose(): void;
}

/**
 * A state as a snapshot was asked for: without the optimizer's moments unless they are wanted. Weights change in updates
 * alone and each update keeps the state it left, so nothing is read back from the device a second time.
 */
export function stateFor({ optimizer }: { optimizer: boolean }, state: ModelState): ModelState {
  if (optimizer) return state;
  const { "optimizer.safetensors": _, ...files } = state.files;
  return { ...state, files };
}
