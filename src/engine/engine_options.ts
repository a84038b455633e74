import type { OptionalFeature } from "../gpu/capabilities.ts";
import type { WeightType } from "../model/parameter_layout.ts";
import type { KvFormat } from "../ops/kv_pages.ts";
import type { InFlightPolicy } from "../schedule/device_schedule.ts";
import type { AdapterOptions } from "../schema/lora.ts";
import type { MomentType } from "../train/moments.ts";

/** How an engine is opened: plain data, so that it can be sent to a worker. */
export interface EngineOptions {
  /** Folder of the model (Hugging Face layout). */
  modelFolder: string;
  /** Adapters beside the model, which is frozen then; the first one is the default. Empty trains the model itself. */
  adapters: readonly AdapterOptions[];
  /** How a frozen model's matrices are held; a model that is trained itself is f32. */
  weights: WeightType;
  /** Seed of fresh adapters. */
  seed: number;
  /** Folder with optimizer.safetensors to continue from, or empty for fresh moments. */
  optimizerFolder: string;
  /** Folder of the frozen reference policy for KL terms, or empty for none. */
  referenceFolder: string;
  /** Folder the critic starts from, its own or a causal model's, or empty for none. */
  criticFolder: string;
  /** Every policy that trains has a value head on its own hidden states. */
  valueHead: boolean;
  /** Policy version of these weights. */
  version: number;
  /** False for a server that never trains: no gradients and no optimizer state are allocated. */
  train: boolean;
  /** Longest prompt plus reply in tokens; 0 takes the model's own. */
  contextLength: number;
  /** Tokens the key-value cache holds; 0 lets the memory plan choose. */
  kvTokens: number;
  /** How keys and values are held: f32, or f16 in half the memory. */
  kvFormat: KvFormat;
  maxSequences: number;
  prefillTokens: number;
  burst: number;
  /** Tokens of one training micro-batch; 0 lets the memory plan choose. */
  microBatchTokens: number;
  /** Lowest blocks that backward computes again; "auto" lets the memory plan choose. */
  recomputedLayers: number | "auto";
  /** How the optimizer's moments are held. */
  optimizerStates: MomentType;
  /** What an update does about sequences in flight, and how many steps of inference may go before a training quantum. */
  inFlight: InFlightPolicy;
  stepsPerQuantum: number;
  /** Bytes of device memory to plan for; 0 takes the default of the device's class. */
  memoryBytes: number;
  /** Features to leave off although the adapter has them. */
  disable: readonly OptionalFeature[];
  /** LEYDEN_FAULT's text. */
  faults: string;
}

/** Defaults of an engine that serves and trains a small model. */
export const engineDefaults: Readonly<Omit<EngineOptions, "modelFolder">> = Object.freeze({
  adapters: [],
  weights: "f32",
  seed: 1,
  optimizerFolder: "",
  referenceFolder: "",
  criticFolder: "",
  valueHead: false,
  version: 0,
  train: true,
  contextLength: 0,
  kvTokens: 0,
  kvFormat: "f32",
  maxSequences: 64,
  prefillTokens: 512,
  burst: 4,
  microBatchTokens: 0,
  recomputedLayers: "auto",
  optimizerStates: "f32",
  inFlight: "drain",
  stepsPerQuantum: 1,
  memoryBytes: 0,
  disable: [],
  faults: "",
});
