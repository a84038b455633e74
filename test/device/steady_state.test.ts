// Plan: after warming up, training steps and decoding create no buffer and no bind group, submit once per quantum, and
// read back nothing but statistics and drawn tokens; a profile changes no result and covers what runs.
import { describe, expect, it } from "#test";
import { Rng, seedKey } from "../../src/core/rng.ts";
import { engineDefaults } from "../../src/engine/engine_options.ts";
import { LocalEngine } from "../../src/engine/local_engine.ts";
import { ModelParts } from "../../src/engine/model_parts.ts";
import type { Device } from "../../src/gpu/device.ts";
import { type ProfiledDispatch, summarizeProfile } from "../../src/gpu/profiler.ts";
import { parseHfConfig } from "../../src/io/hf_config.ts";
import { Model } from "../../src/model/model.ts";
import { llamaConfig } from "../model/configs.ts";
import { openTestDevice } from "../runtime/gpu.ts";
import { stillClock } from "../runtime/still_clock.ts";
import { adamw, open, ppo, randomRows } from "./training_rows.ts";

type Counts = Record<"submits" | "dispatches" | "bindGroups" | "readbacks" | "buffers", number>;

const countsOf = (device: Device): Counts => ({ ...device.counters, buffers: device.pool.usage.created });

/** What `work` asked of the device. */
async function during(device: Device, work: () => Promise<unknown>): Promise<Counts> {
  const before = countsOf(device);
  await work();
  const after = countsOf(device);
  const names = Object.keys(before) as (keyof Counts)[];
  return Object.fromEntries(names.map((name) => [name, after[name] - before[name]])) as Counts;
}

describe("steady state", () => {
  it("trains in one submit per quantum, creating nothing and reading statistics alone", async () => {
    const { model, trainer } = await open(llamaConfig);
    const { device } = model;
    const rows = randomRows(4, 40, new Rng(seedKey(5)));
    await trainer.step(rows, ppo, adamw);
    const step = await during(device, () => trainer.step(rows, ppo, adamw));
    // Gradients and the tied head's set to 0, the one micro-batch, the optimizer; read: statistics and norm.
    expect([step.submits, step.readbacks, step.buffers, step.bindGroups]).toEqual([4, 2, 0, 0]);
    expect(step.dispatches).toBeGreaterThan(20);

    let quanta = 0;
    const between = async (): Promise<void> => void quanta++;
    const split = await during(device, () => trainer.step(rows, ppo, adamw, { between }));
    expect(quanta).toBeGreaterThan(3);
    expect([split.submits, split.readbacks, split.buffers, split.bindGroups]).toEqual([4 + quanta, 2, 0, 0]);
    expect(split.dispatches).toBe(step.dispatches);

    const several = await during(device, async () => {
      for (let i = 0; i < 5; i++) await trainer.step(rows, ppo, adamw);
    });
    expect(several.dispatches).toBe(5 * step.dispatches);
    expect([several.submits, several.readbacks, several.buffers, several.bindGroups]).toEqual([20, 10, 0, 0]);
    trainer.dispose();
    model.dispose();
  });

  it("decodes in one submit and one readback per prompt or burst, creating nothing", async () => {
    const device = await openTestDevice();
    const clock = stillClock;
    const options = { ...engineDefaults, modelFolder: "", kvTokens: 2048, maxSequences: 8, train: false };
    const model = Model.initialize(device, parseHfConfig(llamaConfig), { seed: 5 });
    const engine = await LocalEngine.open({
      open: async () => new ModelParts({ model, options, clock, decodeText: () => "" }),
      clock,
      limits: options,
      version: 0,
      faults: [],
    });
    const maxTokens = 1 + 2 * options.burst;
    const generate = (seed: number) =>
      engine.generate({
        id: `call-${seed}`,
        promptIds: Int32Array.from({ length: 20 }, (_, i) => (i * seed) % 40),
        maxTokens,
        sampling: { temperature: 1, topK: 0, topP: 1, minP: 0 },
        key: [seed, 1],
        stopIds: [],
        stopStrings: [],
      });
    expect((await generate(3)).ids).toHaveLength(maxTokens);
    const steady = await during(device, () => generate(7));
    // The prompt draws the first token; then two bursts.
    expect([steady.submits, steady.readbacks, steady.buffers, steady.bindGroups]).toEqual([3, 3, 0, 0]);
    await engine.close();
  });

  it("profiles every dispatch, with the same results", async () => {
    const results = [];
    for (const profiled of [false, true]) {
      const { model, trainer } = await open(llamaConfig);
      const rows = randomRows(3, 20, new Rng(seedKey(9)));
      const dispatches: ProfiledDispatch[] = [];
      let now = 0;
      if (profiled) model.device.profiler = { nowMs: () => now++, record: (d) => dispatches.push(d) };
      const counts = await during(model.device, () => trainer.step(rows, ppo, adamw));
      model.device.profiler = null;
      expect(dispatches).toHaveLength(profiled ? counts.dispatches : 0);
      results.push(await model.sha256());
      if (profiled) {
        const entries = summarizeProfile(dispatches);
        expect(entries.reduce((n, e) => n + e.count, 0)).toBe(counts.dispatches);
        expect(entries.every((e) => e.ms === e.count && e.bytes > 0)).toBe(true);
        const products = entries.filter((e) => e.label.startsWith("matmul"));
        expect(products.every((e) => e.flops > 0 && /^\d+x\d+x\d+$/.test(e.shape))).toBe(true);
      }
      trainer.dispose();
      model.dispose();
    }
    expect(results[0]).toBe(results[1]);
  });
});
