import { describe, expect, it } from "#test";
import { engineDefaults } from "../../src/engine/engine_options.ts";
import { LocalEngine } from "../../src/engine/local_engine.ts";
import { ModelParts } from "../../src/engine/model_parts.ts";
import { parseHfConfig } from "../../src/io/hf_config.ts";
import { Model } from "../../src/model/model.ts";
import type { GenerateRequest, GenerateResult } from "../../src/schema/engine.ts";
import { gpt2Config, qwen3Config as smallQwen3 } from "../model/configs.ts";
import { openTestDevice } from "../runtime/gpu.ts";

const qwen3Config = { ...smallQwen3, vocab_size: 61, max_position_embeddings: 128 };
/** Heads of 6: no vector loads. */
const learnedConfig = { ...gpt2Config, vocab_size: 61, n_positions: 128 };

const clock = { now: () => 0, monotonic: () => performance.now(), sleep: async () => {} };

/** An engine over a random model; closing it closes the device. */
async function openEngine(config: unknown, more: Partial<typeof engineDefaults> = {}): Promise<LocalEngine> {
  const options = { ...engineDefaults, modelFolder: "", kvTokens: 4096, maxSequences: 32, train: false, ...more };
  return LocalEngine.open({
    open: async () => {
      const device = await openTestDevice();
      const model = Model.initialize(device, parseHfConfig(config), { seed: 5, std: 0.4 });
      return new ModelParts({ model, options, clock, decodeText: () => "" });
    },
    clock,
    limits: options,
    version: 0,
    faults: [],
  });
}

function request(id: string, promptIds: readonly number[], more: Partial<GenerateRequest> = {}): GenerateRequest {
  return {
    id,
    promptIds: Int32Array.from(promptIds),
    maxTokens: 20,
    sampling: { temperature: 1, topK: 0, topP: 1, minP: 0 },
    key: [7, 11],
    stopIds: [],
    stopStrings: [],
    ...more,
  };
}

const prompt = (length: number, step: number): number[] => Array.from({ length }, (_, i) => (i * step + (i % 5)) % 60);

/** Ids and the very bits of the log-probabilities. */
function bits(result: GenerateResult): string {
  return `${result.ids.join(",")} ${new Uint32Array(result.logprobs.buffer.slice(0)).join(",")}`;
}

for (const [name, config] of [
  ["Qwen3", qwen3Config],
  ["GPT-2", learnedConfig],
] as const) {
  describe(`inference order-exactness, ${name}`, () => {
    it("draws the same bits alone, in a batch of 32, in chunks and from the cache", async () => {
      const long = prompt(45, 7);
      const alone = await openEngine(config);
      const expected = bits(await alone.generate(request("alone", long)));
      await alone.close();

      const batched = await openEngine(config);
      const others = Array.from({ length: 31 }, (_, i) =>
        batched.generate(
          request(`other-${i}`, prompt(1 + ((i * 11) % 50), i + 2), { key: [i, 3], maxTokens: 5 + (i % 20) }),
        ),
      );
      const inBatch = await batched.generate(request("in batch", long));
      await Promise.all(others);
      expect(bits(inBatch)).toBe(expected);

      const again = await batched.generate(request("cached", long));
      expect(again.cachedTokens).toBe(32);
      expect(bits(again)).toBe(expected);
      await batched.close();

      const chunked = await openEngine(config, { prefillTokens: 7, burst: 1 });
      expect(bits(await chunked.generate(request("chunked", long)))).toBe(expected);
      await chunked.close();
    });
  });
}

describe("inference against the whole-sequence forward", () => {
  it("records the log-probabilities that scoring the finished text gives (verl 2996)", async () => {
    const engine = await openEngine(qwen3Config);
    const result = await engine.generate(request("a", prompt(30, 3)));
    const ids = Int32Array.from([...prompt(30, 3), ...result.ids]);
    const { logprobs } = await engine.score({ id: "s", ids, temperature: 1 });
    for (let i = 0; i < result.ids.length; i++) {
      expect(logprobs[30 + i] as number).toBeCloseTo(result.logprobs[i] as number, 4);
    }
    await engine.close();
  });

  it("forces given tokens and records their true log-probabilities", async () => {
    const engine = await openEngine(qwen3Config);
    const forcedIds = Int32Array.from([9, 8, 7, 6, 5, 4, 3]);
    const result = await engine.generate(request("f", prompt(20, 3), { forcedIds, maxTokens: 7 }));
    expect(Array.from(result.ids)).toEqual(Array.from(forcedIds));
    const ids = Int32Array.from([...prompt(20, 3), ...forcedIds]);
    const { logprobs } = await engine.score({ id: "s", ids, temperature: 1 });
    for (let i = 0; i < 7; i++) expect(logprobs[20 + i] as number).toBeCloseTo(result.logprobs[i] as number, 4);
    await engine.close();
  });
});

describe("inference stops", () => {
  it("ends at a stop id, keeps it, and is not disturbed by the burst's overshoot", async () => {
    const engine = await openEngine(qwen3Config);
    const free = await engine.generate(request("free", prompt(12, 5)));
    const stop = free.ids[5] as number;
    const at = free.ids.indexOf(stop);
    const stopped = await engine.generate(request("stopped", prompt(12, 5), { stopIds: [stop] }));
    expect(Array.from(stopped.ids)).toEqual(Array.from(free.ids.slice(0, at + 1)));
    expect(stopped.finishReason).toBe("stop");
    await engine.close();
  });

  it("fills the context and draws one token more, which is never fed", async () => {
    const engine = await openEngine(qwen3Config, { contextLength: 40 });
    const result = await engine.generate(request("full", prompt(36, 5), { maxTokens: 100 }));
    expect(result).toMatchObject({ finishReason: "length" });
    expect(result.ids).toHaveLength(5);
    await engine.close();
  });
});
