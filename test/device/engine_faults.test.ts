import { describe, expect, it } from "#test";
import { engineDefaults } from "../../src/engine/engine_options.ts";
import { parseEngineFaults } from "../../src/engine/faults.ts";
import { LocalEngine } from "../../src/engine/local_engine.ts";
import { ModelParts } from "../../src/engine/model_parts.ts";
import { parseHfConfig } from "../../src/io/hf_config.ts";
import { memoryWeights } from "../../src/model/memory_weights.ts";
import { Model } from "../../src/model/model.ts";
import type { GenerateRequest, UpdateRequest } from "../../src/schema/engine.ts";
import { qwen3Config } from "../model/configs.ts";
import { openTestDevice } from "../runtime/gpu.ts";

const clock = { now: () => 0, monotonic: () => performance.now(), sleep: async () => {} };

async function openEngine(faults: string): Promise<LocalEngine> {
  const options = { ...engineDefaults, modelFolder: "", kvTokens: 1024, maxSequences: 8, microBatchTokens: 256 };
  const config = parseHfConfig(qwen3Config);
  return LocalEngine.open({
    open: async (state) => {
      const device = await openTestDevice();
      const saved = state?.files["model.safetensors"];
      const model =
        saved === undefined
          ? Model.initialize(device, config, { seed: 5, std: 0.3 })
          : await Model.load(device, config, await memoryWeights("model.safetensors", saved));
      const parts = new ModelParts({ model, options, clock, decodeText: () => "" });
      const moments = state?.files["optimizer.safetensors"];
      if (moments !== undefined) await parts.restoreOptimizer(moments);
      return parts;
    },
    clock,
    limits: options,
    version: 0,
    faults: parseEngineFaults(faults),
  });
}

const ids = Int32Array.from([3, 1, 4, 1, 5, 9, 2, 6]);

function update(id: string): UpdateRequest {
  const row = {
    ids,
    src: Int32Array.from([3, 4, 5, 6]),
    target: Int32Array.from([5, 9, 2, 6]),
    weight: new Float32Array(4).fill(0.25),
    advantage: Float32Array.from([1, -1, 0.5, 1]),
    oldLogprob: new Float32Array(4).fill(-3.5),
  };
  return {
    id,
    rows: [row],
    loss: {
      kind: "ppo",
      temperature: 1,
      clipLow: 0.2,
      clipHigh: 0.28,
      dualClip: 3,
      klCoef: 0,
      klKind: "k3",
      entropyCoef: 0,
    },
    optimizer: { learningRate: 1e-2, beta1: 0.9, beta2: 0.95, eps: 1e-8, weightDecay: 0, maxGradNorm: 1 },
  };
}

function request(id: string): GenerateRequest {
  return {
    id,
    promptIds: ids,
    maxTokens: 12,
    sampling: { temperature: 1, topK: 0, topP: 1, minP: 0 },
    key: [1, 2],
    stopIds: [],
    stopStrings: [],
  };
}

/** Three updates with a generation after each: the weights' hash and what was drawn. */
async function threeUpdates(faults: string): Promise<{ hash: string; drawn: string[]; losses: number }> {
  const engine = await openEngine(faults);
  const drawn: string[] = [];
  for (let i = 1; i <= 3; i++) {
    await engine.update(update(`u${i}`));
    drawn.push((await engine.generate(request(`g${i}`))).ids.join(","));
  }
  const { weightsSha256 } = await engine.snapshot({ optimizer: true });
  const { deviceLosses } = await engine.stats();
  await engine.close();
  return { hash: weightsSha256, drawn, losses: deviceLosses };
}

describe("a device lost in the middle of an update", () => {
  it("costs time and nothing else: weights, moments and draws are those of an undisturbed run", async () => {
    const undisturbed = await threeUpdates("");
    const first = await threeUpdates("device-lost@update:1");
    const later = await threeUpdates("device-lost@update:3");
    expect(undisturbed.losses).toBe(0);
    expect(first).toEqual({ ...undisturbed, losses: 1 });
    expect(later).toEqual({ ...undisturbed, losses: 1 });
  });
});

describe("a gradient that is not a number", () => {
  it("changes nothing, and says so", async () => {
    const engine = await openEngine("nan-grad@1");
    const before = await engine.snapshot({ optimizer: false });
    const skipped = await engine.update(update("u1"));
    expect(skipped.skipped).toBe("nan_gradient");
    expect(skipped.version).toBe(0);
    expect((await engine.snapshot({ optimizer: false })).weightsSha256).toBe(before.weightsSha256);
    const taken = await engine.update(update("u2"));
    expect(taken.skipped).toBeNull();
    expect(taken.version).toBe(1);
    expect(Number.isFinite(taken.loss)).toBe(true);
    await engine.close();
  });
});

describe("an engine for serving only", () => {
  it("refuses to train", async () => {
    const device = await openTestDevice();
    const model = Model.initialize(device, parseHfConfig(qwen3Config), { seed: 5 });
    const options = { ...engineDefaults, modelFolder: "", kvTokens: 256, train: false };
    const parts = new ModelParts({ model, options, clock, decodeText: () => "" });
    await expect(parts.accumulate(update("u"), { fault: null })).rejects.toThrow("opened for serving only");
    parts.dispose();
  });
});
