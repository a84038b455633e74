import type { Clock } from "../core/clock.ts";
import type { DecodeText } from "../infer/stops.ts";
import type { Adapter } from "../model/lora/adapter.ts";
import { defaultBudgetBytes } from "../model/memory_budget.ts";
import type { Model } from "../model/model.ts";
import type { Decoder } from "../model/policy.ts";
import type { ValueHead } from "../model/value_head.ts";
import type { ConstraintCompiler } from "../schema/token_constraint.ts";
import type { EngineOptions } from "./engine_options.ts";
import type { MemoryRequest } from "./memory_plan.ts";

/** What a model on an open device becomes an engine's parts with. */
export interface ModelPartsDeps {
  readonly model: Model;
  /** Adapters beside it, the default first. */
  readonly adapters?: readonly Adapter[];
  /** Where an adapter's folder says its model is. */
  readonly basePath?: string;
  /** The frozen policy that KL terms are measured against, on the same device; null when there are none. */
  readonly reference?: Decoder | null;
  /** A critic's model, on the same device; null when none learns. */
  readonly critic?: Model | null;
  /** A value head for each adapter, or for the model where there is none; empty when none learns. */
  readonly valueHeads?: readonly ValueHead[];
  readonly options: EngineOptions;
  readonly clock: Clock;
  readonly decodeText: DecodeText;
  /** Makes what replies must match; absent where there is no tokenizer. */
  readonly constraints?: ConstraintCompiler | undefined;
}

/** What the memory plan is to make room for. */
export function memoryRequest(deps: ModelPartsDeps): MemoryRequest {
  const { model, adapters = [], reference, critic, valueHeads = [], options } = deps;
  const { caps, pool } = model.device;
  const rehearsed = [...adapters, ...valueHeads, ...(critic ? [critic] : [])];
  const own = rehearsed.reduce((bytes, { parameters }) => bytes + parameters.bytes, model.parameters.bytes);
  const { contextLength, maxSequences, prefillTokens, burst, kvFormat, recomputedLayers } = options;
  const longest = Math.min(contextLength || model.description.contextLength, model.description.contextLength);
  const training = {
    reference: reference != null,
    moments: options.optimizerStates,
    critic: critic != null,
    valueHead: valueHeads.length > 0,
  };
  return {
    budgetBytes: options.memoryBytes || defaultBudgetBytes(caps.deviceClass),
    otherBytes: pool.usage.bytes - own,
    caps,
    config: model.config,
    weights: model.type,
    adapters: adapters.map((a) => ({ name: a.name, lora: a.config })),
    training: options.train ? training : null,
    inference: { contextLength: longest, maxSequences, prefillTokens, burst, kvFormat },
    ...(options.microBatchTokens === 0 ? {} : { microBatchTokens: options.microBatchTokens }),
    ...(options.kvTokens === 0 ? {} : { kvTokens: options.kvTokens }),
    ...(recomputedLayers === "auto" ? {} : { recomputedLayers }),
  };
}
