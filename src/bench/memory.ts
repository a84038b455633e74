import { type MemoryCase, measureMemory } from "./memory_run.ts";
import type { Suite } from "./suite.ts";

/** A small decoder with everything that large ones have. */
const config = {
  model_type: "qwen3",
  vocab_size: 4096,
  hidden_size: 256,
  num_hidden_layers: 6,
  num_attention_heads: 4,
  num_key_value_heads: 2,
  head_dim: 64,
  intermediate_size: 768,
  max_position_embeddings: 512,
  rms_norm_eps: 1e-6,
  rope_theta: 1e6,
  tie_word_embeddings: true,
};
const lora = { rank: 16, alpha: 32, targets: "all-linear", rslora: false } as const;
const adapters = [{ name: "policy", folder: "", lora }];
const sizes = { kvTokens: 4096, maxSequences: 16, prefillTokens: 256, microBatchTokens: 512 };

const cases: readonly MemoryCase[] = [
  { name: "memory_full", config, options: sizes },
  { name: "memory_full_recomputed", config, options: { ...sizes, recomputedLayers: 5 } },
  { name: "memory_lora_f32", config, options: { ...sizes, adapters } },
  { name: "memory_lora_f16", config, options: { ...sizes, adapters, weights: "f16" } },
  { name: "memory_lora_int8", config, options: { ...sizes, adapters, weights: "int8" } },
  { name: "memory_serve", config, options: { ...sizes, train: false } },
  { name: "memory_serve_kv16", config, options: { ...sizes, train: false, kvFormat: "f16" } },
];

/** The memory plan beside the pool's real peak, with the bytes of each part. */
export const memorySuite: Suite = {
  name: "memory",
  summary: "device memory of training and serving a small decoder: planned bytes by part, and the real peak",
  choices: cases.map(({ name }) => name),
  async *run({ openDevice, clock, only }) {
    for (const each of cases.filter(({ name }) => only.length === 0 || only.includes(name))) {
      const start = clock.monotonic();
      const { plan, peakBytes } = await measureMemory(await openDevice(), each, clock);
      const { weightBytes, optimizerBytes, trainingBytes, inferenceBytes, cacheBytes, totalBytes } = plan;
      yield {
        name: each.name,
        samples: [clock.monotonic() - start],
        facts: {
          planned_bytes: totalBytes,
          peak_bytes: peakBytes,
          peak_of_plan: Math.round((1000 * peakBytes) / totalBytes) / 1000,
          weight_bytes: weightBytes,
          optimizer_bytes: optimizerBytes,
          training_bytes: trainingBytes,
          inference_bytes: inferenceBytes,
          cache_bytes: cacheBytes,
          micro_batch_tokens: plan.microBatchTokens,
          recomputed_layers: plan.recomputedLayers,
          kv_tokens: plan.kvTokens,
        },
      };
    }
  },
};
