import { deriveKey, Rng, seedKey } from "../core/rng.ts";
import { engineDefaults } from "../engine/engine_options.ts";
import { LocalEngine } from "../engine/local_engine.ts";
import { ModelParts } from "../engine/model_parts.ts";
import { parseHfConfig } from "../io/hf_config.ts";
import { Model } from "../model/model.ts";
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
  max_position_embeddings: 256,
  rms_norm_eps: 1e-5,
  tie_word_embeddings: true,
};
const promptTokens = 64;
const newTokens = 64;
const batches: readonly number[] = [1, 8, 32];

/** Decode steps of a small random model through the engine, at several batch sizes. */
export const decodeSuite: Suite = {
  name: "decode",
  summary: "decode steps of a small decoder through the engine, 1, 8 and 32 sequences at once",
  async *run(context) {
    const engine = await openEngine(context);
    try {
      for (const batch of batches) yield await measure(context, engine, batch);
    } finally {
      await engine.close();
    }
  },
};

async function openEngine({ openDevice, clock }: BenchContext): Promise<LocalEngine> {
  const options = { ...engineDefaults, modelFolder: "", train: false };
  return LocalEngine.open({
    open: async () => {
      const model = Model.initialize(await openDevice(), parseHfConfig(config), { seed: 1 });
      return new ModelParts({ model, options, clock, decodeText: () => "" });
    },
    clock,
    limits: options,
    version: 0,
    faults: [],
  });
}

/** Draws for `batch` sequences at once; each round has its own prompts. */
async function round(engine: LocalEngine, batch: number, number: number): Promise<void> {
  const key = deriveKey(seedKey(1), "decode", batch, number);
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

/** Milliseconds of a decode step: the device's time for decoding, shared among the steps of a round. */
async function measure({ repeats }: BenchContext, engine: LocalEngine, batch: number): Promise<Measurement> {
  await round(engine, batch, 0);
  const samples: number[] = [];
  for (let i = 1; i <= repeats; i++) {
    const before = await engine.stats();
    await round(engine, batch, i);
    const after = await engine.stats();
    const seconds = after.deviceSeconds.decode - before.deviceSeconds.decode;
    samples.push((1000 * seconds) / (after.decodeSteps - before.decodeSteps));
  }
  const tokensPerSecond = (1000 * batch) / summarizeSamples(samples).median;
  return { name: `decode_b${batch}`, samples, facts: { batch, tokens_per_s: tokensPerSecond } };
}
