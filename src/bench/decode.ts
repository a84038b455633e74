import { cpuUsage } from "node:process";
import { deriveKey, Rng, seedKey } from "../core/rng.ts";
import { engineDefaults } from "../engine/engine_options.ts";
import { LocalEngine } from "../engine/local_engine.ts";
import { ModelParts } from "../engine/model_parts.ts";
import { parseHfConfig } from "../io/hf_config.ts";
import { Model } from "../model/model.ts";
import type { KvFormat } from "../ops/kv_pages.ts";
import { DecodeFloors } from "./decode_floor.ts";
import { OtherLoad } from "./other_load.ts";
import { type BenchContext, type Measurement, type Suite, summarizeSamples } from "./suite.ts";

/** The model that decoding is measured with. */
const config = {
  model_type: "llama",
  vocab_size: 512,
  hidden_size: 256,
  num_hidden_layers: 4,
  num_attention_heads: 4,
  num_key_value_heads: 2,
  intermediate_size: 1024,
  max_position_embeddings: 320,
  rms_norm_eps: 1e-5,
  tie_word_embeddings: true,
};
/** Tokens a sequence has in the middle of a round. */
const context = 256;
const newTokens = 32;
/** One more than whole pages, so that all but the last token come from the cache. */
const promptTokens = context - newTokens / 2 + 1;
const batches: readonly number[] = [1, 8, 32];
const formats: readonly KvFormat[] = ["f32", "f16"];

/** Decode steps of a small random model through the engine, at several batch sizes, beside the least they can take. */
export const decodeSuite: Suite = {
  name: "decode",
  summary: "decode steps of a small decoder through the engine, 1, 8 and 32 sequences at once at 256 tokens each",
  async *run(bench) {
    for (const format of formats) {
      const opened = await openEngine(bench, format);
      try {
        yield* rounds(bench, opened, format);
      } finally {
        await opened.engine.close();
      }
    }
  },
};

interface Opened {
  readonly engine: LocalEngine;
  readonly parts: ModelParts;
  readonly model: Model;
}

async function openEngine({ openDevice, clock }: BenchContext, kvFormat: KvFormat): Promise<Opened> {
  const options = { ...engineDefaults, modelFolder: "", train: false, kvFormat };
  const model = Model.initialize(await openDevice(), parseHfConfig(config), { seed: 1 });
  const parts = new ModelParts({ model, options, clock, decodeText: () => "" });
  const opening = { open: async () => parts, clock, limits: options, version: 0, faults: [] };
  return { engine: await LocalEngine.open(opening), parts, model };
}

/** The batch sizes in turns, and between them what their steps are made of: other load falls on all alike. */
async function* rounds(bench: BenchContext, opened: Opened, kv: KvFormat): AsyncIterable<Measurement> {
  const { engine, parts, model } = opened;
  const floors = await DecodeFloors.create(model, bench.clock, batches);
  for (const batch of batches) await stepTime(engine, batch);
  const samples = batches.map((): StepTime[] => []);
  const load = new OtherLoad(bench.platform.files, bench.clock, ["self"]);
  await load.begin();
  for (let i = 1; i <= bench.repeats; i++) {
    for (const [b, batch] of batches.entries()) {
      samples[b]?.push(await stepTime(engine, batch));
      await floors.sample(batch);
    }
  }
  const otherLoad = await load.end();
  const medians = samples.map((times) => ({
    ms: summarizeSamples(times.map((t) => t.ms)).median,
    cpuMs: summarizeSamples(times.map((t) => t.cpuMs)).median,
  }));
  const alone = medians[0] ?? { ms: 0, cpuMs: 0 };
  for (const [b, batch] of batches.entries()) {
    const { ms: median, cpuMs } = medians[b] ?? alone;
    const dispatches = await parts.decodeDispatches(batch);
    const { ms, matmulMs, kvMs, readGbps } = floors.floor({ batch, context, dispatches, kv });
    const rates = { tokens_per_s: (1000 * batch) / median, times_b1: (batch * alone.ms) / median };
    const cpu = { cpu_ms: cpuMs, cpu_times_b1: (batch * alone.cpuMs) / cpuMs };
    const parted = { floor_ms: ms, of_floor: median / ms, matmul_ms: matmulMs, kv_read_ms: kvMs, read_gbps: readGbps };
    yield {
      name: `decode_b${batch}${kv === "f32" ? "" : `_kv_${kv}`}`,
      samples: (samples[b] ?? []).map((t) => t.ms),
      facts: { batch, kv, context, ...rates, ...cpu, dispatches, ...parted, other_load: otherLoad },
    };
  }
  floors.dispose();
}

/** A decode step: the device's time, and the processor time of the whole process. */
interface StepTime {
  readonly ms: number;
  readonly cpuMs: number;
}

/** A decode step of `batch` sequences, shared among the steps of a round. */
async function stepTime(engine: LocalEngine, batch: number): Promise<StepTime> {
  const cpuStart = cpuUsage();
  const before = await engine.stats();
  await round(engine, batch, before.decodeSteps);
  const after = await engine.stats();
  const { user, system } = cpuUsage(cpuStart);
  const steps = after.decodeSteps - before.decodeSteps;
  const seconds = after.deviceSeconds.decode - before.deviceSeconds.decode;
  return { ms: (1000 * seconds) / steps, cpuMs: (user + system) / 1000 / steps };
}

/** Draws for `batch` sequences at once; the prompts are the same in each round, so that the cache has them. */
async function round(engine: LocalEngine, batch: number, number: number): Promise<void> {
  const key = deriveKey(seedKey(1), "decode", batch);
  const draws = Array.from({ length: batch }, (_, i) => {
    const rng = new Rng(deriveKey(key, i));
    return engine.generate({
      id: `decode-${batch}-${number}-${i}`,
      promptIds: Int32Array.from({ length: promptTokens }, () => rng.below(config.vocab_size)),
      maxTokens: newTokens,
      sampling: { temperature: 1, topK: 0, topP: 1, minP: 0 },
      key: rng.key,
      stopIds: [],
      stopStrings: [],
    });
  });
  await Promise.all(draws);
}
