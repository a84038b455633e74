// Plan: the memory plan is within a tenth of the pool's real peak, over families, with blocks recomputed, under LoRA with f16
// and int8 weights, with two adapters, with a critic, with value heads, for a server, and with the cache in f16.
import { describe, expect, it } from "#test";
import { type MemoryCase, measureMemory } from "../../src/bench/memory_run.ts";
import { gpt2Config, qwen3Config } from "../model/configs.ts";
import { openTestDevice } from "../runtime/gpu.ts";

const clock = { now: () => 0, monotonic: () => performance.now(), sleep: async () => {} };
const wide = {
  ...qwen3Config,
  hidden_size: 64,
  intermediate_size: 192,
  num_hidden_layers: 3,
  tie_word_embeddings: true,
};
const lora = { rank: 4, alpha: 8, targets: "all-linear", rslora: false } as const;
const adapter = (name: string) => ({ name, folder: "", lora });
const sizes = { kvTokens: 512, maxSequences: 12, prefillTokens: 48, burst: 2, microBatchTokens: 192 };

const cases: readonly MemoryCase[] = [
  { name: "full training", config: wide, options: sizes },
  { name: "learned positions", config: { ...gpt2Config, n_positions: 64 }, options: { ...sizes, prefillTokens: 32 } },
  { name: "blocks recomputed", config: wide, options: { ...sizes, recomputedLayers: 2 } },
  { name: "LoRA over f16", config: wide, options: { ...sizes, weights: "f16", adapters: [adapter("a")] } },
  {
    name: "two adapters over int8",
    config: wide,
    options: { ...sizes, weights: "int8", adapters: [adapter("a"), adapter("b")] },
  },
  { name: "a critic of its own", config: wide, options: { ...sizes, criticFolder: "critic" } },
  { name: "a value head", config: wide, options: { ...sizes, valueHead: true } },
  {
    name: "two adapters with value heads",
    config: wide,
    options: { ...sizes, weights: "f16", adapters: [adapter("a"), adapter("b")], valueHead: true },
  },
  { name: "a server", config: wide, options: { ...sizes, train: false, kvTokens: 2048 } },
  { name: "a cache in f16", config: wide, options: { ...sizes, kvTokens: 2048, kvFormat: "f16" } },
];

describe("the memory plan", () => {
  for (const each of cases) {
    it(`is within a tenth of the pool's peak: ${each.name}`, async () => {
      const { plan, peakBytes } = await measureMemory(await openTestDevice(), each, clock);
      const ratio = peakBytes / plan.totalBytes;
      expect(ratio, `${peakBytes} of ${plan.totalBytes}`).toBeGreaterThan(0.9);
      expect(ratio, `${peakBytes} of ${plan.totalBytes}`).toBeLessThan(1.1);
    });
  }
});
