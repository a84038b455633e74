// Plan: the parts never exceed the budget; given numbers are kept; blocks are recomputed before micro-batches get short;
// adapters and frozen weights take what they should; a budget too small says which numbers to change.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type MemoryPlan, type MemoryRequest, planMemory } from "../../src/engine/memory_plan.ts";
import type { Capabilities } from "../../src/gpu/capabilities.ts";
import { parseHfConfig } from "../../src/io/hf_config.ts";
import { familyOf } from "../../src/model/families/registry.ts";
import { kvBytesPerToken, mebibyte } from "../../src/model/memory_budget.ts";
import { llamaConfig } from "../model/configs.ts";

const caps: Capabilities = {
  adapter: "llvmpipe",
  deviceClass: "software",
  subgroupWidth: 8,
  f16: false,
  timestamps: false,
  limits: {
    maxBufferBytes: 2 ** 32 - 1,
    maxBindingBytes: 2 ** 27,
    offsetAlignment: 256,
    maxInvocations: 1024,
    maxWorkgroupBytes: 32768,
    maxStorageBuffers: 16,
  },
};
const inference = { contextLength: 64, maxSequences: 8, prefillTokens: 128, burst: 4, kvFormat: "f32" } as const;
const small = parseHfConfig(llamaConfig);
/** Deep enough for recomputation to matter, quick to record. */
const middle = parseHfConfig({ ...llamaConfig, num_hidden_layers: 6, hidden_size: 128, intermediate_size: 512 });
/** The size of Qwen3-0.6B. */
const large = parseHfConfig({
  ...llamaConfig,
  vocab_size: 151936,
  hidden_size: 1024,
  num_hidden_layers: 28,
  num_attention_heads: 16,
  num_key_value_heads: 8,
  head_dim: 128,
  intermediate_size: 3072,
  max_position_embeddings: 32768,
  tie_word_embeddings: true,
});

function request(more: Partial<MemoryRequest> = {}): MemoryRequest {
  return {
    ...{ caps, config: small, weights: "f32", adapters: [], training: { reference: false }, inference },
    ...{ budgetBytes: 1024 * mebibyte, otherBytes: 0, ...more },
  };
}

function fault(more: Partial<MemoryRequest>): { message: string; do: string; data: { minimumBytes: number } } {
  try {
    planMemory(request(more));
  } catch (error) {
    return error as ReturnType<typeof fault>;
  }
  throw new Error("accepted");
}

function sum(p: MemoryPlan): number {
  return p.weightBytes + p.optimizerBytes + p.trainingBytes + p.inferenceBytes + p.cacheBytes;
}

describe("planMemory", () => {
  it("stays inside every budget that it accepts", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 400 }), fc.boolean(), (mebibytes, train) => {
        const budgetBytes = mebibytes * mebibyte;
        try {
          const plan = planMemory(
            request({ config: middle, budgetBytes, training: train ? { reference: false } : null }),
          );
          expect(plan.totalBytes).toBeLessThanOrEqual(budgetBytes);
          expect(plan.totalBytes).toBe(sum(plan));
          expect(plan.kvTokens).toBeGreaterThanOrEqual(64);
          expect(plan.microBatchTokens).toBeGreaterThanOrEqual(train ? 64 : 0);
        } catch (error) {
          expect((error as { code?: string }).code).toBe("memory_budget");
        }
      }),
      { numRuns: 12 },
    );
  });

  it("keeps what the user fixes", () => {
    expect(planMemory(request({ microBatchTokens: 300, kvTokens: 640, recomputedLayers: 1 }))).toMatchObject({
      microBatchTokens: 300,
      kvTokens: 640,
      recomputedLayers: 1,
    });
    expect(planMemory(request({ kvTokens: 640 }))).toMatchObject({ microBatchTokens: 8192, recomputedLayers: 0 });
    expect(planMemory(request()).kvTokens).toBe(64 * 64);
    expect(planMemory(request({ kvTokens: 16384 })).kvTokens).toBe(16384);
  });

  it("recomputes as few blocks as a useful micro-batch asks for", () => {
    const wide = planMemory(request({ config: middle }));
    expect(wide.recomputedLayers).toBe(0);
    const fixed = { config: middle, microBatchTokens: 2048, kvTokens: 128 };
    const bytes = [0, 2, 5].map((recomputedLayers) => planMemory(request({ ...fixed, recomputedLayers })).totalBytes);
    expect(bytes).toEqual(bytes.toSorted((a, b) => b - a));
    const [none, two, all] = bytes as [number, number, number];
    expect(planMemory(request({ ...fixed, budgetBytes: none })).recomputedLayers).toBe(0);
    expect(planMemory(request({ ...fixed, budgetBytes: two })).recomputedLayers).toBe(2);
    expect(planMemory(request({ ...fixed, budgetBytes: all })).recomputedLayers).toBe(5);
    // Left to itself it shortens no micro-batch that recomputation can keep.
    expect(planMemory(request({ config: middle, kvTokens: 128, budgetBytes: all })).microBatchTokens).toBeGreaterThan(
      1900,
    );
  });

  it("needs no training memory for a server", () => {
    const plan = planMemory(request({ training: null }));
    expect(plan).toMatchObject({ optimizerBytes: 0, trainingBytes: 0, microBatchTokens: 0, recomputedLayers: 0 });
  });

  it("counts what adapters and frozen weights take", () => {
    const adapters = [{ name: "a", lora: { rank: 16, alpha: 32, targets: "all-linear", rslora: false } as const }];
    const fixed = { config: large, budgetBytes: 64 * 1024 * mebibyte, microBatchTokens: 256, kvTokens: 512 };
    const full = planMemory(request(fixed));
    const frozen = planMemory(request({ ...fixed, adapters, weights: "f16" }));
    const byte = planMemory(request({ ...fixed, adapters, weights: "int8" }));
    // Gradient and two moments, and the tied head's gradient by itself where sums keep their order.
    expect(full.optimizerBytes / full.weightBytes).toBeGreaterThanOrEqual(3);
    expect(frozen.optimizerBytes).toBeLessThan(0.07 * full.optimizerBytes);
    expect(frozen.weightBytes / full.weightBytes).toBeLessThan(0.52);
    expect(byte.weightBytes / frozen.weightBytes).toBeLessThan(0.72);
    expect(frozen.totalBytes).toBeLessThan(4 * 1024 * mebibyte);
    expect(frozen.cacheBytes).toBe(512 * kvBytesPerToken(familyOf(large).describe(large)));
  });

  it("respects the device's buffers", () => {
    const tight = { ...caps, limits: { ...caps.limits, maxBufferBytes: 2 ** 24, maxBindingBytes: 2 ** 20 } };
    const plan = planMemory(request({ caps: tight, config: middle }));
    expect(plan.microBatchTokens * 4 * 1024).toBeLessThanOrEqual(2 ** 20);
    expect(() => planMemory(request({ caps: tight, config: middle, microBatchTokens: 9000 }))).toThrow(
      /^train\.microBatchTokens is 9000; the buffers of this device hold at most \d+\.$/,
    );
  });

  it("says which numbers to change", () => {
    const { message, do: advice, data } = fault({ config: middle, budgetBytes: 8 * mebibyte });
    expect(message).toMatch(
      /^A memory budget of 8\.0 MiB is too small: parameters, gradients and optimizer \d+\.\d MiB, 64 cached tokens \d+\.\d MiB, prefill and decode steps \d+\.\d MiB, a micro-batch of 64 tokens, blocks recomputed, \d+\.\d MiB\.$/,
    );
    expect(advice).toMatch(
      /^Give a budget of at least \d+\.\d MiB \(model\.memoryBytes\), train an adapter \(train\.loraRank\), lower train\.microBatchTokens, lower model\.kvTokens, or use a smaller model\.$/,
    );
    const enough = planMemory(request({ config: middle, budgetBytes: data.minimumBytes }));
    expect(enough.microBatchTokens).toBeGreaterThanOrEqual(64);
    expect(fault({ training: null, budgetBytes: 1000 }).do).toContain(
      "hold weights as f16 or int8 (model.weights), lower",
    );
  });
});
