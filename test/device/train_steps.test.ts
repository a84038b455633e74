// Plan: steps learn and report; bad gradients and empty batches change nothing; the optimizer's state continues
// bit-equal, over thirty steps with plans built anew, and over several buffers; nothing is left allocated.
import { describe, expect, it } from "#test";
import { Rng, seedKey } from "../../src/core/rng.ts";
import type { Device } from "../../src/gpu/device.ts";
import { parseHfConfig } from "../../src/io/hf_config.ts";
import { weightsSha256 } from "../../src/io/weights_hash.ts";
import { Model } from "../../src/model/model.ts";
import { Trainer } from "../../src/train/trainer.ts";
import { allConfigs, llamaConfig, qwen3Config } from "../model/configs.ts";
import { testDevice } from "../ops/opcheck.ts";
import { stillClock } from "../runtime/still_clock.ts";
import { adamw, crossEntropy, open, ppo, randomRows, row } from "./training_rows.ts";

describe("training steps", () => {
  it("learns, and reports what it did", async () => {
    const { model, trainer } = await open(llamaConfig);
    const rows = randomRows(4, 40, new Rng(seedKey(5)));
    const records = rows.reduce((n, r) => n + r.src.length, 0);
    const first = await trainer.step(rows, crossEntropy, adamw);
    expect(first.skipped).toBeNull();
    expect(first.tokens).toBe(records);
    expect(first.logprobs).toHaveLength(records);
    const sum = first.logprobs.reduce((a, lp) => a - 0.1 * lp, 0);
    expect(first.loss).toBeCloseTo(sum, 4);
    expect(first.approxKl).toBe(0);
    expect(first.gradNorm).toBeGreaterThan(0);
    let last = first;
    for (let i = 0; i < 20; i++) last = await trainer.step(rows, crossEntropy, adamw);
    expect(last.loss).toBeLessThan(0.5 * first.loss);
    expect(trainer.steps).toBe(21);
    trainer.dispose();
    model.dispose();
  });

  it("changes nothing for a gradient that is not finite or a batch without weight", async () => {
    const { model, trainer } = await open(llamaConfig);
    const rng = new Rng(seedKey(6));
    const before = await model.sha256();
    const bad = await trainer.step([row([1, 2, 3], rng, { advantage: Float32Array.of(1, Number.NaN) })], ppo, adamw);
    expect(bad.skipped).toBe("nan_gradient");
    const weightless = row([1, 2, 3], rng, {
      weight: new Float32Array(2),
      advantage: new Float32Array(2).fill(Number.NaN),
    });
    const empty = await trainer.step([weightless], ppo, adamw);
    expect(empty.skipped).toBe("empty_batch");
    expect(empty.loss).toBe(0);
    expect((await trainer.step([], ppo, adamw)).skipped).toBe("empty_batch");
    expect(await model.sha256()).toBe(before);
    expect(trainer.skippedSteps).toBe(1);
    expect(trainer.steps).toBe(0);
    const good = await trainer.step([row([1, 2, 3], rng)], ppo, adamw);
    expect(good.skipped).toBeNull();
    expect(Number.isFinite(good.gradNorm)).toBe(true);
    trainer.dispose();
    model.dispose();
  });

  it("a step of learning rate 0 leaves every log-probability as it was, to the last bit (open-instruct 1473)", async () => {
    const { model, trainer } = await open(llamaConfig);
    const rows = randomRows(4, 40, new Rng(seedKey(12)));
    const before = await model.sha256();
    const first = await trainer.step(rows, ppo, { ...adamw, learningRate: 0 });
    const own = rows.map((r, i) => {
      const from = rows.slice(0, i).reduce((n, { src }) => n + src.length, 0);
      return { ...r, oldLogprob: first.logprobs.slice(from, from + r.src.length) };
    });
    const second = await trainer.step(own, ppo, { ...adamw, learningRate: 0 });
    expect(second.logprobs).toEqual(first.logprobs);
    expect([second.approxKl, second.logprobDiffMax, second.clipFrac]).toEqual([0, 0, 0]);
    expect(await model.sha256()).toBe(before);
    trainer.dispose();
    model.dispose();
  });

  it("continues bit-equal from a saved optimizer", async () => {
    const rows = randomRows(3, 40, new Rng(seedKey(7)));
    const straight = await open(llamaConfig);
    for (let i = 0; i < 3; i++) await straight.trainer.step(rows, ppo, adamw);
    const expected = await straight.model.sha256();
    const resumed = await open(llamaConfig);
    for (let i = 0; i < 2; i++) await resumed.trainer.step(rows, ppo, adamw);
    const state = await resumed.trainer.optimizerFile();
    resumed.trainer.dispose();
    const trainer = new Trainer(resumed.model, { microBatchTokens: 256, clock: stillClock });
    await trainer.restoreOptimizer(state);
    expect(trainer.steps).toBe(2);
    await trainer.step(rows, ppo, adamw);
    expect(await resumed.model.sha256()).toBe(expected);
    await expect(trainer.restoreOptimizer(state.subarray(0, 100))).rejects.toThrow(
      "optimizer.safetensors is cut short",
    );
    for (const t of [trainer, straight.trainer]) t.dispose();
    for (const m of [resumed.model, straight.model]) m.dispose();
  });

  it("is the same for thirty steps whether plans are kept or built anew each time", async () => {
    const rng = new Rng(seedKey(12));
    const steps = Array.from({ length: 30 }, (_, i) => randomRows(1 + (i % 5), 40, rng));
    const kept = await open(qwen3Config, 64);
    const fresh = await open(qwen3Config, 64);
    let state = await fresh.trainer.optimizerFile();
    fresh.trainer.dispose();
    for (const [i, rows] of steps.entries()) {
      const { loss } = await kept.trainer.step(rows, ppo, adamw);
      const trainer = new Trainer(fresh.model, { microBatchTokens: 64, clock: stillClock });
      await trainer.restoreOptimizer(state);
      expect((await trainer.step(rows, ppo, adamw)).loss, `step ${i + 1}`).toBe(loss);
      state = await trainer.optimizerFile();
      trainer.dispose();
    }
    expect(await fresh.model.sha256()).toBe(await kept.model.sha256());
    kept.trainer.dispose();
    for (const { model } of [kept, fresh]) model.dispose();
  });

  it("is the same with parameters spread over several buffers", async () => {
    const device = await testDevice();
    const limits = { ...device.caps.limits, maxBufferBytes: 4096 };
    const small = Object.create(device, { caps: { value: { ...device.caps, limits } } }) as Device;
    const rows = randomRows(3, 40, new Rng(seedKey(13)));
    const hashes: string[] = [];
    for (const on of [device, small]) {
      const model = Model.initialize(on, parseHfConfig(llamaConfig), { seed: 11, std: 0.3 });
      const trainer = new Trainer(model, { microBatchTokens: 64, clock: stillClock });
      expect(model.parameters.segments().length > 1).toBe(on === small);
      // The sum of squares runs over buffers, so a clipped step could differ in its last bit.
      await trainer.step(rows, ppo, { ...adamw, maxGradNorm: 0 });
      hashes.push(await model.sha256());
      expect(await weightsSha256(await model.hostTensorSources())).toBe(hashes.at(-1));
      trainer.dispose();
      model.dispose();
    }
    expect(hashes[0]).toBe(hashes[1]);
  });

  it("learns with 8-bit moments as with f32 ones, and continues from their file bit by bit", async () => {
    const rows = randomRows(6, 40, new Rng(seedKey(21)));
    const losses: number[][] = [];
    for (const moments of ["f32", "int8"] as const) {
      const { model, trainer } = await open(llamaConfig, 256, { moments });
      const own: number[] = [];
      for (let i = 0; i < 12; i++) own.push((await trainer.step(rows, crossEntropy, adamw)).loss);
      losses.push(own);
      const again = await open(llamaConfig, 256, { moments });
      for (const name of model.parameters.layout.parameters.keys()) {
        again.model.parameters.write(name, await model.parameters.read(name));
      }
      await again.trainer.restoreOptimizer(await trainer.optimizerFile());
      await trainer.step(rows, crossEntropy, adamw);
      await again.trainer.step(rows, crossEntropy, adamw);
      expect(await again.model.sha256()).toBe(await model.sha256());
      for (const each of [{ model, trainer }, again]) {
        each.trainer.dispose();
        each.model.dispose();
      }
    }
    const [full, small] = losses as [number[], number[]];
    expect(small[0]).toBe(full[0]);
    expect(small.at(-1)).toBeLessThan(0.7 * (small[0] as number));
    const progress = (full[0] as number) - (full.at(-1) as number);
    expect(Math.abs((small.at(-1) as number) - (full.at(-1) as number))).toBeLessThan(0.05 * progress);
  });

  it("frees everything", async () => {
    const device = await testDevice();
    const before = device.pool.usage.buffers;
    for (const json of allConfigs) {
      const { model, trainer } = await open(json, 512);
      const rows = Array.from({ length: 40 }, (_, i) =>
        row(
          Array.from({ length: 12 }, (_, t) => (7 * i + t) % 30),
          new Rng(seedKey(i)),
        ),
      );
      await trainer.computeGradients(rows, ppo);
      trainer.dispose();
      model.dispose();
    }
    await device.idle();
    expect(device.pool.usage.buffers).toBe(before);
  });
});
