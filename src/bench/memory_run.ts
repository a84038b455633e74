import type { Clock } from "../core/clock.ts";
import { deriveKey, Rng, seedKey } from "../core/rng.ts";
import { type EngineOptions, engineDefaults } from "../engine/engine_options.ts";
import { LocalEngine } from "../engine/local_engine.ts";
import type { MemoryPlan } from "../engine/memory_plan.ts";
import { ModelParts } from "../engine/model_parts.ts";
import type { Device } from "../gpu/device.ts";
import { parseHfConfig } from "../io/hf_config.ts";
import { encodeSafetensors } from "../io/safetensors.ts";
import { loadCritic } from "../model/critic.ts";
import { Adapter } from "../model/lora/adapter.ts";
import { memoryWeights } from "../model/memory_weights.ts";
import { Model } from "../model/model.ts";
import { ValueHead } from "../model/value_head.ts";
import type { GenerateRequest, TrainRow } from "../schema/engine.ts";

/** A model and how an engine is opened on it. */
export interface MemoryCase {
  readonly name: string;
  /** config.json of a model with random weights. */
  readonly config: Readonly<Record<string, unknown>>;
  readonly options: Partial<EngineOptions>;
}

const fillOptimizer = { learningRate: 1e-4, beta1: 0.9, beta2: 0.95, eps: 1e-8, weightDecay: 0, maxGradNorm: 1 };

/** What was planned, and the most bytes that the pool held at once. */
export interface MemoryOutcome {
  readonly plan: MemoryPlan;
  readonly peakBytes: number;
}

/**
 * Fills an engine: prompts and decode bursts of every size its plans have, then an update of full micro-batches. The
 * device is closed in the end.
 */
export async function measureMemory(
  device: Device,
  { config, options }: MemoryCase,
  clock: Clock,
): Promise<MemoryOutcome> {
  const full: EngineOptions = { ...engineDefaults, modelFolder: "", ...options };
  const type = full.adapters.length > 0 || !full.train ? full.weights : "f32";
  const model = Model.initialize(device, parseHfConfig(config), { seed: 1, type });
  const adapters = full.adapters.map((a) => Adapter.create(model, a.name, a.lora, 1));
  const trained = full.train && full.valueHead ? Math.max(1, adapters.length) : 0;
  const valueHeads = Array.from({ length: trained }, () => new ValueHead(device, model.description.width));
  const critic = full.criticFolder === "" ? null : await criticOf(model);
  const parts = new ModelParts({ model, adapters, critic, valueHeads, options: full, clock, decodeText: () => "" });
  const engine = await LocalEngine.open({
    open: async () => parts,
    clock,
    limits: full,
    version: 0,
    faults: [],
  });
  try {
    const { vocabSize } = model.description;
    for (const adapter of full.adapters.length === 0 ? [undefined] : full.adapters.map((a) => a.name)) {
      await fillInference(engine, vocabSize, full, adapter);
      if (full.train) await fillTraining(engine, vocabSize, parts.memory.microBatchTokens, full, adapter);
    }
    return { plan: parts.memory, peakBytes: device.pool.usage.peakBytes };
  } finally {
    await engine.close();
  }
}

/** The critic that starts from a model, whatever folder it would come from. */
async function criticOf(model: Model): Promise<Model> {
  const bytes = await encodeSafetensors(await model.hostTensorSources());
  return loadCritic(model.device, model.config, await memoryWeights("critic", bytes));
}

/** A lone short prompt, then as many sequences as fit, with a prompt that fills a prefill step among them. */
async function fillInference(
  engine: LocalEngine,
  vocab: number,
  { maxSequences, prefillTokens }: EngineOptions,
  adapter: string | undefined,
): Promise<void> {
  const { contextLength } = await engine.info();
  const long = Math.max(1, Math.min(prefillTokens, contextLength - 8));
  const draw = (id: string, tokens: number): GenerateRequest => {
    const rng = new Rng(deriveKey(seedKey(1), id));
    return {
      id,
      ...(adapter === undefined ? {} : { adapter }),
      promptIds: Int32Array.from({ length: tokens }, () => rng.below(vocab)),
      maxTokens: 4,
      sampling: { temperature: 1, topK: 0, topP: 1, minP: 0 },
      key: rng.key,
      stopIds: [],
      stopStrings: [],
    };
  };
  await engine.generate(draw("alone", 8));
  await engine.generate(draw("long", long));
  await Promise.all(Array.from({ length: maxSequences }, (_, i) => engine.generate(draw(`many-${i}`, 8))));
}

/** One row as long as the context at most, repeated until a micro-batch is full. */
async function fillTraining(
  engine: LocalEngine,
  vocab: number,
  tokens: number,
  { valueHead, criticFolder }: Pick<EngineOptions, "valueHead" | "criticFolder">,
  adapter: string | undefined,
): Promise<void> {
  const { contextLength } = await engine.info();
  const rng = new Rng(seedKey(2));
  const valued = valueHead || criticFolder !== "";
  const rows: TrainRow[] = [];
  for (let left = tokens; left > 1; left -= Math.min(left, contextLength)) {
    const length = Math.min(left, contextLength);
    const ids = Int32Array.from({ length }, () => rng.below(vocab));
    const zeros = new Float32Array(length - 1);
    rows.push({
      ids,
      src: Int32Array.from({ length: length - 1 }, (_, t) => t),
      target: ids.slice(1),
      weight: new Float32Array(length - 1).fill(1 / tokens),
      advantage: zeros,
      oldLogprob: zeros,
      ...(valued ? { oldValue: zeros, returns: zeros } : {}),
    });
  }
  const of = adapter === undefined ? {} : { adapter };
  if (valued) await fillValues(engine, rows, of);
  const value = { coef: 1, clipRange: 0, gradient: "policy", learningRate: 1e-4 } as const;
  await engine.update({
    id: "fill",
    ...of,
    rows,
    ...(valueHead ? { value } : {}),
    loss: {
      ...{ kind: "cross_entropy", temperature: 1, clipLow: 0, clipHigh: 0, dualClip: 0 },
      ...{ klCoef: 0, klKind: "k3", entropyCoef: 0 },
    },
    optimizer: fillOptimizer,
  });
}

/** Every pass of what values states: with scores, alone, and its own step. */
async function fillValues(engine: LocalEngine, rows: readonly TrainRow[], of: { adapter?: string }): Promise<void> {
  const asked = { id: "values", rows, temperature: 1, reference: false, values: true, ...of };
  await engine.scoreRows({ ...asked, policy: true });
  await engine.scoreRows({ ...asked, policy: false });
  await engine.updateCritic({ id: "head", rows, optimizer: fillOptimizer, clipRange: 0, ...of });
}
