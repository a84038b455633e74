// Plan: every family and every option that a config.json may set, at odd sizes, against a float64 decoder written from
// the formulas; packed sequences do not see each other; scoring agrees with the logits and with itself in any packing.
import { describe, expect, it } from "#test";
import { Rng, seedKey } from "../../src/core/rng.ts";
import { parseHfConfig } from "../../src/io/hf_config.ts";
import { forwardOutputs, packSequences } from "../../src/model/forward_outputs.ts";
import { Model } from "../../src/model/model.ts";
import { Scorer } from "../../src/model/scorer.ts";
import { gemmaConfig, gpt2Config, llamaConfig, peersConfig, qwen2Config, qwen3Config } from "../model/configs.ts";
import { testDevice } from "../ops/opcheck.ts";
import { type ReferenceWeights, referenceLogits } from "./reference_decoder.ts";

const llama3 = {
  rope_type: "llama3",
  factor: 8,
  low_freq_factor: 1,
  high_freq_factor: 4,
  original_max_position_embeddings: 16,
};

const cases: [string, Record<string, unknown>][] = [
  ["llama", llamaConfig],
  ["llama with biases everywhere", { ...llamaConfig, attention_bias: true, mlp_bias: true }],
  ["llama, linear rope", { ...llamaConfig, rope_scaling: { type: "linear", factor: 3 } }],
  ["llama, llama3 rope", { ...llamaConfig, rope_scaling: llama3 }],
  ["llama, half of each head rotates", { ...llamaConfig, partial_rotary_factor: 0.5 }],
  [
    "llama at odd sizes",
    {
      ...llamaConfig,
      vocab_size: 37,
      hidden_size: 30,
      num_attention_heads: 6,
      num_key_value_heads: 3,
      head_dim: 10,
      intermediate_size: 23,
      num_hidden_layers: 3,
    },
  ],
  ["llama, exact gelu", { ...llamaConfig, hidden_act: "gelu" }],
  ["llama, one head", { ...llamaConfig, num_attention_heads: 1, num_key_value_heads: 1, head_dim: 2 }],
  ["qwen2", qwen2Config],
  ["qwen3", qwen3Config],
  ["qwen3, tied", { ...qwen3Config, tie_word_embeddings: true }],
  ["gemma", gemmaConfig],
  ["gpt2", gpt2Config],
  [
    "gpt2, untied, exact gelu, narrow mlp",
    { ...gpt2Config, tie_word_embeddings: false, activation_function: "gelu", n_inner: 20 },
  ],
  ["leyden-peers", peersConfig],
];

/** A model whose every parameter, biases and norms included, is random. */
async function randomModel(json: Record<string, unknown>): Promise<{ model: Model; weights: ReferenceWeights }> {
  const model = Model.initialize(await testDevice(), parseHfConfig(json), { seed: 1 });
  const rng = new Rng(seedKey(9));
  const weights = new Map<string, Float64Array>();
  for (const { name, shape, init } of model.parameters.layout.parameters.values()) {
    const size = shape.reduce((a, b) => a * b, 1);
    const centre = init === "one" ? 1 : 0;
    const values = Float32Array.from({ length: size }, () => centre + 0.3 * rng.normal());
    model.parameters.write(name, values);
    weights.set(name, Float64Array.from(values));
  }
  return { model, weights };
}

function randomIds(length: number, vocab: number, seed: number): number[] {
  const rng = new Rng(seedKey(seed));
  return Array.from({ length }, () => rng.below(vocab));
}

function largestDifference(got: ArrayLike<number>, want: readonly number[]): number {
  expect(got.length).toBe(want.length);
  return want.reduce((worst, w, i) => Math.max(worst, Math.abs((got[i] as number) - w)), 0);
}

describe("forward pass", () => {
  for (const [what, json] of cases) {
    it(`is the decoder of its config: ${what}`, async () => {
      const { model, weights } = await randomModel(json);
      const texts = [13, 1, 6].map((length, i) => randomIds(length, model.description.vocabSize, i));
      const { logits } = await forwardOutputs(model, packSequences(texts));
      const want = texts.flatMap((ids) => referenceLogits(model.description, weights, ids).flat());
      const scale = Math.max(1, ...want.map(Math.abs));
      expect(largestDifference(logits, want) / scale).toBeLessThan(2e-5);
      model.dispose();
    });
  }
});

describe("scoring", () => {
  it("is the logits' log-softmax at any temperature, bit-equal in any packing", async () => {
    const { model, weights } = await randomModel(qwen3Config);
    const texts = [9, 1, 20, 2].map((length, i) => Int32Array.from(randomIds(length, 40, 20 + i)));
    const scorer = new Scorer(model, 24);
    const packed = await scorer.scoreAll(texts, 0.7);
    for (const [i, ids] of texts.entries()) {
      const alone = await scorer.score(ids, 0.7);
      expect(Array.from(packed[i]?.logprobs as Float32Array)).toEqual(Array.from(alone.logprobs));
      expect(Array.from(packed[i]?.entropies as Float32Array)).toEqual(Array.from(alone.entropies));
      const logits = referenceLogits(model.description, weights, Array.from(ids));
      for (let t = 1; t < ids.length; t++) {
        const scaled = (logits[t - 1] as number[]).map((v) => v / 0.7);
        const top = Math.max(...scaled);
        const lse = top + Math.log(scaled.reduce((s, v) => s + Math.exp(v - top), 0));
        const entropy = scaled.reduce((h, v) => h + Math.exp(v - lse) * (lse - v), 0);
        expect(alone.logprobs[t]).toBeCloseTo((scaled[ids[t] as number] as number) - lse, 4);
        expect(alone.entropies[t]).toBeCloseTo(entropy, 4);
      }
      expect(alone.logprobs[0]).toBe(0);
    }
    scorer.dispose();
    model.dispose();
  });

  it("refuses what does not fit", async () => {
    const { model } = await randomModel(llamaConfig);
    const scorer = new Scorer(model, 128);
    await expect(scorer.score(new Int32Array(65), 1)).rejects.toThrow("A text of 65 tokens cannot be scored; 64 fit.");
    await expect(scorer.score(Int32Array.of(1, 40), 1)).rejects.toThrow("Token id 40 is outside 0..39.");
    await expect(scorer.score(Int32Array.of(1, 2), 0)).rejects.toThrow("A loss cannot use temperature 0.");
    model.dispose();
  });
});
