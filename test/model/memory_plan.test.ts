// Plan: the parts never exceed the budget; given numbers are kept; a budget too small says which numbers to change.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseHfConfig } from "../../src/io/hf_config.ts";
import type { DecoderDescription } from "../../src/model/decoder.ts";
import { familyOf } from "../../src/model/families/registry.ts";
import { activationBytesPerToken, kvBytesPerToken, type MemoryPlan, memoryPlan } from "../../src/model/memory_plan.ts";
import { llamaConfig } from "./configs.ts";

const limits = { maxBufferBytes: 2 ** 32 - 1, maxBindingBytes: 2 ** 27 };

function description(extra: Record<string, unknown> = {}): DecoderDescription {
  const config = parseHfConfig({ ...llamaConfig, ...extra });
  return familyOf(config).describe(config);
}

/** The size of Qwen3-0.6B. */
const large = description({
  vocab_size: 151936,
  hidden_size: 1024,
  num_hidden_layers: 28,
  num_attention_heads: 16,
  num_key_value_heads: 8,
  head_dim: 128,
  intermediate_size: 3072,
  max_position_embeddings: 32768,
});

function usedBytes(p: MemoryPlan): number {
  const state = p.parameterBytes + p.gradientBytes + p.optimizerBytes + p.lossHeadBytes;
  return state + p.microBatchTokens * p.activationBytesPerToken + p.kvTokens * p.kvBytesPerToken;
}

describe("memoryPlan", () => {
  it("counts keys and values of all layers", () => {
    expect(kvBytesPerToken(large)).toBe(2 * 28 * 8 * 128 * 4);
  });

  it("divides a budget", () => {
    const plan = memoryPlan(large, { budgetBytes: 24 * 2 ** 30, limits, train: true });
    expect(plan.parameterBytes).toBe(plan.gradientBytes);
    expect(plan.optimizerBytes).toBe(2 * plan.parameterBytes);
    expect(plan.microBatchTokens).toBeGreaterThan(1000);
    expect(plan.kvTokens).toBeGreaterThan(1000);
    expect(usedBytes(plan)).toBeLessThanOrEqual(plan.budgetBytes);
  });

  it("stays inside every budget that it accepts", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 40_000 }), fc.boolean(), (mebibytes, train) => {
        const budgetBytes = mebibytes * 2 ** 20;
        try {
          const plan = memoryPlan(large, { budgetBytes, limits, train });
          expect(usedBytes(plan)).toBeLessThanOrEqual(budgetBytes);
          expect(plan.kvTokens).toBeGreaterThanOrEqual(128);
          if (train) expect(plan.microBatchTokens).toBeGreaterThanOrEqual(128);
        } catch (error) {
          expect((error as { code?: string }).code).toBe("memory_budget");
        }
      }),
    );
  });

  it("keeps what the user fixes", () => {
    const small = description();
    const request = { budgetBytes: 2 ** 30, limits, train: true };
    expect(memoryPlan(small, { ...request, microBatchTokens: 300, kvTokens: 640 })).toMatchObject({
      microBatchTokens: 300,
      kvTokens: 640,
    });
    expect(memoryPlan(small, { ...request, kvTokens: 640 }).microBatchTokens).toBe(8192);
    expect(memoryPlan(small, request).kvTokens).toBe(64 * 64);
    expect(memoryPlan(small, { ...request, kvTokens: 16384 }).kvTokens).toBe(16384);
  });

  it("needs no training memory for a server", () => {
    const plan = memoryPlan(large, { budgetBytes: 4 * 2 ** 30, limits, train: false });
    expect(plan).toMatchObject({ gradientBytes: 0, optimizerBytes: 0, lossHeadBytes: 0, microBatchTokens: 0 });
    expect(plan.kvTokens).toBeGreaterThan(1000);
  });

  it("respects the device's buffers", () => {
    const tight = { maxBufferBytes: 2 ** 28, maxBindingBytes: 2 ** 24 };
    const plan = memoryPlan(large, { budgetBytes: 64 * 2 ** 30, limits: tight, train: true });
    expect(plan.microBatchTokens * plan.activationBytesPerToken).toBeLessThanOrEqual(tight.maxBufferBytes);
    expect(plan.kvTokens * 8 * 128 * 4).toBeLessThanOrEqual(tight.maxBindingBytes);
    const request = { budgetBytes: 64 * 2 ** 30, limits: tight, train: true, microBatchTokens: 9000 };
    expect(() => memoryPlan(large, request)).toThrow(
      /^train\.microBatchTokens is 9000; the buffers of this device hold at most \d+\.$/,
    );
  });

  it("says which numbers to change", () => {
    try {
      memoryPlan(large, { budgetBytes: 2 ** 30, limits, train: true });
    } catch (error) {
      const {
        code,
        message,
        do: advice,
        data,
      } = error as { code: string; message: string; do: string; data: { minimumBytes: number } };
      expect(code).toBe("memory_budget");
      expect(message).toMatch(/^A memory budget of 1024\.0 MiB is too small: parameters, gradients and optimizer \d/);
      expect(advice).toMatch(
        /^Give a budget of at least \d+\.\d MiB, lower train\.microBatchTokens or model\.kvTokens/,
      );
      const enough = memoryPlan(large, { budgetBytes: data.minimumBytes, limits, train: true });
      expect(enough.microBatchTokens).toBeGreaterThanOrEqual(128);
      expect(enough.kvTokens).toBeGreaterThanOrEqual(128);
      return;
    }
    throw new Error("accepted");
  });

  it("grows with depth, width and head norms", () => {
    const base = activationBytesPerToken(description());
    expect(activationBytesPerToken(description({ num_hidden_layers: 4 }))).toBeGreaterThan(1.5 * base);
    expect(activationBytesPerToken(description({ intermediate_size: 48 }))).toBeGreaterThan(base);
    const qwen3 = { model_type: "qwen3", architectures: ["Qwen3ForCausalLM"] };
    expect(activationBytesPerToken(description(qwen3))).toBeGreaterThan(base);
  });
});
