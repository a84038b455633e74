// Plan: an engine with two adapters over one int8 model answers by name, alone and mixed in one batch with the same bits;
// sampled log-probabilities are the trainer's; an update moves its own adapter alone; gradients collected for one are not
// dropped by the other's step; a checkpoint is PEFT folders from which a lost device comes back; unknown names are refused.
import { describe, expect, it } from "#test";
import { adapterMoments, openAdapters } from "../../src/engine/adapter_files.ts";
import { type EngineOptions, engineDefaults } from "../../src/engine/engine_options.ts";
import { parseEngineFaults } from "../../src/engine/faults.ts";
import { LocalEngine } from "../../src/engine/local_engine.ts";
import { ModelParts } from "../../src/engine/model_parts.ts";
import { parseHfConfig } from "../../src/io/hf_config.ts";
import { Model } from "../../src/model/model.ts";
import type { GenerateRequest, GenerateResult, TrainRow, UpdateRequest } from "../../src/schema/engine.ts";
import type { Files } from "../../src/schema/files.ts";
import { baseAdapter } from "../../src/schema/lora.ts";
import { qwen3Config } from "../model/configs.ts";
import { openTestDevice } from "../runtime/gpu.ts";
import { adamw, crossEntropy } from "./training_rows.ts";

const clock = { now: () => 0, monotonic: () => performance.now(), sleep: async () => {} };
const config = parseHfConfig({ ...qwen3Config, hidden_size: 64, intermediate_size: 64, max_position_embeddings: 128 });
const lora = { rank: 4, alpha: 8, targets: "all-linear", rslora: false } as const;
/** Nothing here lies in a folder. */
const noFiles = {} as Files;

async function openEngine(names: readonly string[], faults = ""): Promise<LocalEngine> {
  const options: EngineOptions = {
    ...engineDefaults,
    ...{ modelFolder: "", kvTokens: 1024, maxSequences: 8, microBatchTokens: 256, weights: "int8" },
    adapters: names.map((name) => ({ name, folder: "", lora })),
  };
  return LocalEngine.open({
    open: async (state) => {
      const device = await openTestDevice();
      const model = Model.initialize(device, config, { seed: 5, std: 0.3, type: "int8" });
      const adapters = await openAdapters(noFiles, model, options, state);
      const parts = new ModelParts({ model, adapters, basePath: "/base", options, clock, decodeText: () => "" });
      for (const adapter of options.adapters) {
        const moments = await adapterMoments(noFiles, options, adapter, state);
        if (moments !== undefined) await parts.restoreOptimizer(moments, adapter.name);
      }
      return parts;
    },
    clock,
    limits: options,
    version: 0,
    faults: parseEngineFaults(faults),
  });
}

function request(id: string, adapter?: string): GenerateRequest {
  return {
    id,
    ...(adapter === undefined ? {} : { adapter }),
    promptIds: Int32Array.from({ length: 40 }, (_, i) => (7 * i) % 40),
    maxTokens: 12,
    sampling: { temperature: 1, topK: 0, topP: 1, minP: 0 },
    key: [7, 11],
    stopIds: [],
    stopStrings: [],
  };
}

const ids = Int32Array.from([3, 1, 4, 1, 5, 9, 2, 6]);
const row: TrainRow = {
  ids,
  src: Int32Array.of(3, 4, 5, 6),
  target: Int32Array.of(5, 9, 2, 6),
  weight: new Float32Array(4).fill(0.25),
  advantage: new Float32Array(4),
  oldLogprob: new Float32Array(4),
};

function update(id: string, adapter: string, more: Partial<UpdateRequest> = {}): UpdateRequest {
  return { id, adapter, rows: [row], loss: crossEntropy, optimizer: { ...adamw, learningRate: 0.05 }, ...more };
}

function bits(result: GenerateResult): string {
  return `${result.ids.join(",")} ${new Uint32Array(result.logprobs.buffer.slice(0)).join(",")}`;
}

describe("an engine with adapters", () => {
  it("answers by name; an update moves its own adapter alone; log-probabilities are the trainer's", async () => {
    const engine = await openEngine(["a", "b"]);
    expect((await engine.info()).adapters).toEqual(["a", "b"]);
    const fresh = bits(await engine.generate(request("base", baseAdapter)));
    // A fresh adapter adds zero.
    expect(bits(await engine.generate(request("b0", "b")))).toBe(fresh);
    const before = await engine.score({ id: "s", ids, temperature: 1, adapter: "a" });
    for (let i = 0; i < 3; i++) expect((await engine.update(update(`u${i}`, "a"))).skipped).toBeNull();
    const after = await engine.score({ id: "s", ids, temperature: 1, adapter: "a" });
    expect(after.logprobs[6]).toBeGreaterThan((before.logprobs[6] as number) + 0.05);
    // Without a name the first adapter answers.
    const a = await engine.generate(request("a1"));
    expect(bits(a)).not.toBe(fresh);
    expect(bits(await engine.generate(request("a2", "a")))).toBe(bits(a));
    expect(bits(await engine.generate(request("b1", "b")))).toBe(fresh);
    const mixed = ["a", "b", baseAdapter, "a"].map((name, i) => engine.generate(request(`m${i}`, name)));
    expect((await Promise.all(mixed)).map(bits)).toEqual([bits(a), fresh, fresh, bits(a)]);
    const whole = Int32Array.from([...request("x").promptIds, ...a.ids]);
    const scored = await engine.score({ id: "t", ids: whole, temperature: 1, adapter: "a" });
    for (const [i, logprob] of a.logprobs.entries()) {
      expect(Math.abs(logprob - (scored.logprobs[40 + i] as number))).toBeLessThan(1e-4);
    }
    await engine.close();
  });

  it("keeps what was collected for one adapter while another takes a step", async () => {
    const engine = await openEngine(["a", "b"]);
    await engine.accumulate({ id: "c", adapter: "b", rows: [row], loss: crossEntropy });
    await engine.update(update("u", "a"));
    const none = { rows: [], accumulated: true };
    const late = await engine.update(update("v", "b", none));
    expect(late.skipped).toBeNull();
    const lone = await openEngine(["b"]);
    const direct = await lone.update(update("w", "b"));
    expect(late.gradNorm).toBe(direct.gradNorm);
    await engine.close();
    await lone.close();
  });

  it("saves PEFT folders, and comes back from them when the device is lost", async () => {
    const calm = await openEngine(["a", "b"]);
    const shaken = await openEngine(["a", "b"], "device-lost@update:3");
    for (const engine of [calm, shaken]) {
      await engine.update(update("u1", "a"));
      await engine.update(update("u2", "b"));
      await engine.update(update("u3", "a"));
    }
    const [expected, got] = [await calm.snapshot({ optimizer: true }), await shaken.snapshot({ optimizer: true })];
    expect((await shaken.stats()).deviceLosses).toBe(1);
    expect(Object.keys(got.files).sort()).toEqual(
      ["a", "b"].flatMap((n) =>
        ["adapter_config.json", "adapter_model.safetensors", "optimizer.safetensors"].map((f) => `${n}/${f}`),
      ),
    );
    expect(got.weightsSha256).toBe(expected.weightsSha256);
    expect(got.optimizerSteps).toBe(3);
    expect(JSON.parse(new TextDecoder().decode(got.files["a/adapter_config.json"]))).toMatchObject({
      peft_type: "LORA",
      base_model_name_or_path: "/base",
      r: 4,
      lora_alpha: 8,
      target_modules: "all-linear",
    });
    await calm.close();
    await shaken.close();
  });

  it("puts one adapter alone into the checkpoint itself", async () => {
    const engine = await openEngine(["a"]);
    const { files } = await engine.snapshot({ optimizer: false });
    expect(Object.keys(files)).toEqual(["adapter_config.json", "adapter_model.safetensors"]);
    await engine.close();
  });

  it("refuses unknown names, and training of the frozen model", async () => {
    const engine = await openEngine(["a"]);
    await expect(engine.generate(request("x", "c"))).rejects.toThrow('This engine has no adapter "c".');
    await expect(engine.update(update("x", "c"))).rejects.toThrow('This engine has no adapter "c".');
    await expect(engine.score({ id: "s", ids, temperature: 1, adapter: "c" })).rejects.toThrow('no adapter "c"');
    await expect(engine.update(update("x", baseAdapter))).rejects.toThrow(
      "The model itself is frozen beside its adapters.",
    );
    await engine.close();
  });
});
