/** A critic made from a policy learns the returns it is shown, says the same after a restart, and refuses what it lacks. */
import { describe, expect, it } from "#test";
import { Rng, seedKey } from "../../src/core/rng.ts";
import type { Device } from "../../src/gpu/device.ts";
import { parseHfConfig } from "../../src/io/hf_config.ts";
import { encodeSafetensors } from "../../src/io/safetensors.ts";
import { loadCritic } from "../../src/model/critic.ts";
import { memoryWeights } from "../../src/model/memory_weights.ts";
import { Model } from "../../src/model/model.ts";
import type { TrainRow } from "../../src/schema/engine.ts";
import { Critic } from "../../src/train/critic.ts";
import { gemmaConfig, llamaConfig } from "../model/configs.ts";
import { testDevice } from "../ops/opcheck.ts";
import { adamw, randomRows } from "./training_rows.ts";

/** The critic of a random policy of a configuration. */
async function criticOf(device: Device, json: Record<string, unknown>, microBatchTokens = 64): Promise<Critic> {
  const config = parseHfConfig(json);
  const policy = Model.initialize(device, config, { seed: 3, std: 0.3 });
  const bytes = await encodeSafetensors(await policy.hostTensorSources());
  policy.dispose();
  return new Critic(await loadCritic(device, config, await memoryWeights("policy", bytes)), microBatchTokens);
}

/** Rows whose returns are a function of the record's own token. */
function rowsWith(values: (row: TrainRow) => Float32Array): TrainRow[] {
  return randomRows(6, 31, new Rng(seedKey(9))).map((row) => ({
    ...row,
    weight: row.weight.map(() => 0.02),
    oldValue: values(row),
    returns: Float32Array.from(row.src, (t) => ((row.ids[t] as number) % 3) / 2),
  }));
}

const how = { optimizer: adamw, clipRange: 0 };

describe("a critic", () => {
  for (const json of [llamaConfig, gemmaConfig]) {
    it(`begins at 0 everywhere and learns returns, from ${json.model_type}`, async () => {
      const critic = await criticOf(await testDevice(), json);
      const rows = rowsWith((row) => new Float32Array(row.src.length));
      expect((await critic.values(rows)).every((v) => v === 0)).toBe(true);
      const first = await critic.step(rows, how);
      let last = first;
      for (let i = 0; i < 40; i++) last = await critic.step(rows, how);
      expect(first.skipped).toBeNull();
      expect(last.loss).toBeLessThan(0.2 * first.loss);
      critic.dispose();
      critic.model.dispose();
    });
  }

  it("goes on from its files as if it had not stopped, and its values do not depend on the micro-batches", async () => {
    const device = await testDevice();
    const critic = await criticOf(device, llamaConfig);
    const rows = rowsWith((row) => new Float32Array(row.src.length));
    await critic.step(rows, how);
    const weights = await encodeSafetensors(await critic.model.hostTensorSources());
    const moments = await critic.optimizerFile();
    const config = parseHfConfig(critic.model.savedConfig());
    expect(config.architectures).toEqual(["LlamaForTokenClassification"]);
    const again = new Critic(await loadCritic(device, config, await memoryWeights("critic", weights)), 12);
    await again.restoreOptimizer(moments);
    expect(await again.values(rows)).toEqual(await critic.values(rows));
    await critic.step(rows, how);
    await again.step(rows, how);
    expect(await again.values(rows)).toEqual(await critic.values(rows));
    for (const one of [critic, again]) {
      one.dispose();
      one.model.dispose();
    }
  });

  it("changes nothing on a step without weight or with a return that is no number, and wants values and returns", async () => {
    const critic = await criticOf(await testDevice(), llamaConfig);
    const rows = rowsWith((row) => new Float32Array(row.src.length));
    const before = await critic.values(rows);
    const weightless = rows.map((row) => ({ ...row, weight: row.weight.map(() => 0) }));
    expect((await critic.step(weightless, how)).skipped).toBe("empty_batch");
    const [spoiled] = rows as [TrainRow];
    const broken = { ...spoiled, returns: new Float32Array(spoiled.src.length).fill(Number.NaN) };
    expect((await critic.step([broken], how)).skipped).toBe("nan_gradient");
    expect(await critic.values(rows)).toEqual(before);
    const { returns: _, ...bare } = spoiled;
    await expect(critic.step([bare], how)).rejects.toThrow("Training row 0 lacks a value or a return");
    critic.dispose();
    critic.model.dispose();
  });
});
