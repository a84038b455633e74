/**
 * The key-value cache through the engine: what is known is not computed again (counted), long prompts let others draw
 * between their chunks, and keys and values held as f16.
 */
import { describe, expect, it } from "#test";
import { type EngineOptions, engineDefaults } from "../../src/engine/engine_options.ts";
import { LocalEngine } from "../../src/engine/local_engine.ts";
import { ModelParts } from "../../src/engine/model_parts.ts";
import { parseHfConfig } from "../../src/io/hf_config.ts";
import { familyOf } from "../../src/model/families/registry.ts";
import { Model } from "../../src/model/model.ts";
import type { GenerateRequest } from "../../src/schema/engine.ts";
import { qwen3Config } from "../model/configs.ts";
import { openTestDevice } from "../runtime/gpu.ts";

const config = parseHfConfig({ ...qwen3Config, vocab_size: 61, max_position_embeddings: 192 });
const clock = { now: () => 0, monotonic: () => performance.now(), sleep: async () => {} };

interface Opened {
  readonly engine: LocalEngine;
  /** What the device did, in order: tokens of each prefill step by request, steps of each burst. */
  readonly log: string[];
  /** Resolves when the first burst begins. */
  readonly drawing: Promise<void>;
  readonly model: Model;
}

async function open(more: Partial<EngineOptions> = {}): Promise<Opened> {
  const options: EngineOptions = { ...engineDefaults, modelFolder: "", kvTokens: 2048, train: false, ...more };
  const log: string[] = [];
  let begun = (): void => {};
  const drawing = new Promise<void>((resolve) => {
    begun = resolve;
  });
  const model = Model.initialize(await openTestDevice(), config, { seed: 5, std: 0.4 });
  const parts = new ModelParts({ model, options, clock, decodeText: () => "" });
  const logged = Object.assign(Object.create(parts) as ModelParts, {
    prefill: (...[work]: Parameters<ModelParts["prefill"]>) => {
      log.push(work.map((p) => `${p.sequence.request.id} ${p.from}-${p.to}`).join(", "));
      return parts.prefill(work);
    },
    decode: (...[work]: Parameters<ModelParts["decode"]>) => {
      log.push(`${work.sequences.map((s) => s.request.id).join(", ")} draw ${work.steps}`);
      begun();
      return parts.decode(work);
    },
  });
  const opening = { open: async () => logged, clock, limits: options, version: 0, faults: [] };
  return { engine: await LocalEngine.open(opening), log, drawing, model };
}

function request(id: string, promptIds: ArrayLike<number>, more: Partial<GenerateRequest> = {}): GenerateRequest {
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

const prompt = (length: number): number[] => Array.from({ length }, (_, i) => (i * 7 + (i % 5)) % 60);

describe("key-value cache", () => {
  it("computes a group's prompt once and of each next turn only what is new", async () => {
    const { engine } = await open();
    const group = Array.from({ length: 8 }, (_, i) => engine.generate(request(`g${i}`, prompt(45), { key: [i, 1] })));
    const replies = await Promise.all(group);
    const first = await engine.stats();
    // Pages hold 16 tokens: two whole pages are shared, and each computes the 13 tokens after them itself.
    expect(first.promptTokens).toBe(45 + 7 * 13);
    expect(first.cachedTokens).toBe(7 * 32);
    const turns = replies.map(({ ids }, i) => request(`t${i}`, [...prompt(45), ...ids, 1, 2, 3], { key: [i, 2] }));
    const next = await Promise.all(turns.map((turn) => engine.generate(turn)));
    const second = await engine.stats();
    // Prompt and reply are 65 tokens, of which four pages are there: nothing known is computed again.
    expect(next.map((r) => r.cachedTokens)).toEqual(new Array(8).fill(64));
    expect(second.promptTokens - first.promptTokens).toBe(8 * (68 - 64));
    await engine.close();
  });

  it("lets others draw between the chunks of a long prompt", async () => {
    const { engine, log, drawing } = await open({ prefillTokens: 32, burst: 4 });
    const short = engine.generate(request("short", prompt(5), { maxTokens: 60 }));
    await drawing;
    await Promise.all([short, engine.generate(request("long", prompt(150), { maxTokens: 2 }))]);
    const chunks = log.flatMap((line, at) => (line.startsWith("long ") && line.includes("-") ? [at] : []));
    expect(chunks.map((at) => log[at])).toEqual([
      "long 0-32",
      "long 32-64",
      "long 64-96",
      "long 96-128",
      "long 128-150",
    ]);
    for (const [i, at] of chunks.slice(1).entries()) {
      expect(log.slice((chunks[i] as number) + 1, at)).toEqual(["short draw 4"]);
    }
    await engine.close();
  });

  it("holds keys and values as f16 in half the memory, with log-probabilities that differ a little", async () => {
    const forcedIds = Int32Array.from(prompt(40));
    const measured = async (kvFormat: "f32" | "f16"): Promise<{ logprobs: Float32Array; bytes: number }> => {
      const { engine, model } = await open({ kvFormat });
      const { bytes } = model.device.pool.usage;
      const { logprobs } = await engine.generate(request("f", prompt(60), { forcedIds, maxTokens: 40 }));
      await engine.close();
      return { logprobs, bytes };
    };
    const [full, half] = [await measured("f32"), await measured("f16")];
    const differences = full.logprobs.map((l, i) => Math.abs(l - (half.logprobs[i] as number)));
    expect(Math.max(...differences)).toBeGreaterThan(0);
    expect(Math.max(...differences)).toBeLessThan(0.005);
    const { layers, kvHeads, headDim } = familyOf(config).describe(config);
    const kvBytes = 2 * 4 * 2048 * layers * kvHeads * headDim;
    expect(full.bytes - half.bytes).toBe(kvBytes / 2);
  });
});
