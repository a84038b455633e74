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
  for (const batch of batches) await stepMs(engine, batch, 0);
  const samples = batches.map((): number[] => []);
  const load = new OtherLoad(bench.platform.files, bench.clock, ["self"]);
  await load.begin();
  for (let i = 1; i <= bench.repeats; i++) {
    for (const [b, batch] of batches.entries()) {
      samples[b]?.push(await stepMs(engine, batch, i));
      await floors.sample(batch);
    }
  }
  const otherLoad = await load.end();
  const alone = summarizeSamples(samples[0] ?? []).median;
  for (const [b, batch] of batches.entries()) {
    const times = samples[b] ?? [];
    const { median } = summarizeSamples(times);
    const dispatches = await parts.decodeDispatches(batch);
    const { ms, matmulMs, kvMs, readGbps } = floors.floor({ batch, context, dispatches, kv });
    const rates = { tokens_per_s: (1000 * batch) / median, times_b1: (batch * alone) / median };
    const parted = { floor_ms: ms, of_floor: median / ms, matmul_ms: matmulMs, kv_read_ms: kvMs, read_gbps: readGbps };
    yield {
      name: `decode_b${batch}${kv === "f32" ? "" : `_kv_${kv}`}`,
      samples: times,
      facts: { batch, kv, context, ...rates, dispatches, ...parted, other_load: otherLoad },
    };
  }
  floors.dispose();
}

/** Milliseconds of a decode step of `batch` sequences: the device's time for decoding, shared among the round's steps. */
async function stepMs(engine: LocalEngine, batch: number, number: number): Promise<number> {
  const before = await engine.stats();
  await round(engine, batch, number);
  const after = await engine.stats();
  const seconds = after.deviceSeconds.decode - before.deviceSeconds.decode;
  return (1000 * seconds) / (after.decodeSteps - before.decodeSteps);
}

/** Draws for `batch` sequences at once; the prompts are the same in each round, so that the cache has them. */
async function round(engine: LocalEngine, batch: number, number: number): Promise<void> {
  const key = deriveKey(seedKey(1), "decode", batch);
  const draws = Array.from({ length: batch }, (_, i) => {
    const rng = new Rng(deriveKey(key, i));
    return engine.generate({
      id: `decode-${batch}-${number}-${i}`,
      promptIds: Int32Array.from({ length: context - newTokens / 2 }, () => rng.below(config.vocab_size)),
      maxTokens: newTokens,
      sampling: { temperature: 1, topK: 0, topP: 1, minP: 0 },
      key: rng.key,
      stopIds: [],
      stopStrings: [],
    });
  });
  await Promise.all(draws);
}
