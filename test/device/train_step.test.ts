// Plan: gradients agree with differences of the loss for every family; the split into micro-batches, packing and trees
// change nothing but rounding; two equal samples count twice; bad gradients and empty batches change nothing; the
// optimizer's state continues bit-equal; nothing is left allocated; the memory plan's estimate holds.
import { describe, expect, it } from "#test";
import { Rng, seedKey } from "../../src/core/rng.ts";
import { parseHfConfig } from "../../src/io/hf_config.ts";
import { activationBytesPerToken } from "../../src/model/memory_plan.ts";
import { Model } from "../../src/model/model.ts";
import type { LossConfig, OptimizerConfig, TrainRow } from "../../src/schema/engine.ts";
import { Trainer } from "../../src/train/trainer.ts";
import { allConfigs, llamaConfig, qwen3Config } from "../model/configs.ts";
import { testDevice } from "../ops/opcheck.ts";
import { stillClock } from "../runtime/still_clock.ts";

const crossEntropy: LossConfig = {
  kind: "cross_entropy",
  temperature: 1,
  clipLow: 0,
  clipHigh: 0,
  dualClip: 0,
  klCoef: 0,
  klKind: "k3",
  entropyCoef: 0,
};
const ppo: LossConfig = {
  ...crossEntropy,
  kind: "ppo",
  temperature: 0.8,
  clipLow: 0.2,
  clipHigh: 0.28,
  dualClip: 3,
  entropyCoef: 0.01,
};
const adamw: OptimizerConfig = {
  learningRate: 1e-2,
  beta1: 0.9,
  beta2: 0.95,
  eps: 1e-8,
  weightDecay: 0.01,
  maxGradNorm: 1,
};

function row(ids: readonly number[], rng: Rng, extra: Partial<TrainRow> = {}): TrainRow {
  const n = ids.length - 1;
  const draw = (value: () => number): Float32Array => Float32Array.from({ length: n }, value);
  return {
    ids: Int32Array.from(ids),
    src: Int32Array.from({ length: n }, (_, t) => t),
    target: Int32Array.from(ids.slice(1)),
    weight: draw(() => 0.1),
    advantage: draw(() => rng.normal()),
    oldLogprob: draw(() => -3.5 + 0.3 * rng.normal()),
    ...extra,
  };
}

function randomRows(count: number, vocab: number, rng: Rng): TrainRow[] {
  return Array.from({ length: count }, () => {
    const length = 3 + rng.below(9);
    return row(
      Array.from({ length }, () => rng.below(vocab)),
      rng,
    );
  });
}

async function open(
  json: Record<string, unknown>,
  microBatchTokens = 256,
): Promise<{ model: Model; trainer: Trainer }> {
  const model = Model.initialize(await testDevice(), parseHfConfig(json), { seed: 11, std: 0.3 });
  return { model, trainer: new Trainer(model, { microBatchTokens, clock: stillClock }) };
}

/** Every gradient in one array, in the order of the parameters. */
async function allGradients({ gradients }: Trainer): Promise<Float32Array> {
  const parts: Float32Array[] = [];
  for (const name of gradients.layout.parameters.keys()) parts.push(await gradients.read(name));
  return Float32Array.from(parts.flatMap((p) => Array.from(p)));
}

function relativeDistance(a: Float32Array, b: Float32Array): number {
  let difference = 0;
  let size = 0;
  for (let i = 0; i < a.length; i++) {
    difference += ((a[i] as number) - (b[i] as number)) ** 2;
    size += (b[i] as number) ** 2;
  }
  return Math.sqrt(difference / size);
}

describe("training step", () => {
  for (const json of allConfigs) {
    it(`has the gradient of its loss: ${json.model_type}`, async () => {
      const { model, trainer } = await open(json);
      const rng = new Rng(seedKey(1));
      const rows = randomRows(3, json.vocab_size as number, rng);
      await trainer.computeGradients(rows, ppo);
      // Along the gradient itself the loss changes fastest, so differences stand out from f32 rounding.
      let square = 0;
      const start = new Map<string, { values: Float32Array; gradient: Float32Array }>();
      for (const name of model.parameters.layout.parameters.keys()) {
        const gradient = await trainer.gradients.read(name);
        for (const g of gradient) square += g * g;
        start.set(name, { values: await model.parameters.read(name), gradient });
      }
      const lossAt = async (step: number): Promise<number> => {
        for (const [name, { values, gradient }] of start) {
          model.parameters.write(
            name,
            values.map((v, i) => v + (step * (gradient[i] as number)) / Math.sqrt(square)),
          );
        }
        return (await trainer.computeGradients(rows, ppo)).statistics.loss;
      };
      const h = 4e-3;
      const slope =
        (8 * ((await lossAt(h)) - (await lossAt(-h))) - ((await lossAt(2 * h)) - (await lossAt(-2 * h)))) / (12 * h);
      expect(Math.abs(slope / Math.sqrt(square) - 1)).toBeLessThan(2e-3);
      trainer.dispose();
      model.dispose();
    });
  }

  it("does not depend on the split into micro-batches", async () => {
    const rows = randomRows(9, 40, new Rng(seedKey(2)));
    const whole = await open(llamaConfig);
    const split = await open(llamaConfig, 16);
    const a = await whole.trainer.computeGradients(rows, ppo);
    const b = await split.trainer.computeGradients(rows, ppo);
    expect(relativeDistance(await allGradients(split.trainer), await allGradients(whole.trainer))).toBeLessThan(1e-5);
    // Packing changes no row's result, not even its last bit.
    expect(Array.from(b.stats)).toEqual(Array.from(a.stats));
    expect(b.statistics.tokens).toBe(a.statistics.tokens);
    for (const { model, trainer } of [whole, split]) {
      trainer.dispose();
      model.dispose();
    }
  });

  it("computes a tree like its branches", async () => {
    const { model, trainer } = await open(qwen3Config);
    const rng = new Rng(seedKey(3));
    const left = row([1, 2, 3, 4, 5], rng);
    const right = row([1, 2, 3, 6, 7, 8], rng, { weight: Float32Array.of(0, 0, 0.1, 0.1, 0.1) });
    const linear = await trainer.computeGradients([left, right], ppo);
    const expected = await allGradients(trainer);
    // Depth first: the prefix 1 2 3, the branch 4 5, the branch 6 7 8.
    const tail = (name: "advantage" | "oldLogprob" | "weight"): number[] => Array.from(right[name].subarray(2));
    const both = (name: "advantage" | "oldLogprob" | "weight"): Float32Array =>
      Float32Array.from([...left[name], ...tail(name)]);
    const tree: TrainRow = {
      ids: Int32Array.of(1, 2, 3, 4, 5, 6, 7, 8),
      pos: Int32Array.of(0, 1, 2, 3, 4, 3, 4, 5),
      end: Int32Array.of(8, 8, 8, 5, 5, 8, 8, 8),
      src: Int32Array.of(0, 1, 2, 3, 2, 5, 6),
      target: Int32Array.of(2, 3, 4, 5, 6, 7, 8),
      weight: both("weight"),
      advantage: both("advantage"),
      oldLogprob: both("oldLogprob"),
    };
    const got = await trainer.computeGradients([tree], ppo);
    expect(relativeDistance(await allGradients(trainer), expected)).toBeLessThan(1e-5);
    expect(got.statistics.loss).toBeCloseTo(linear.statistics.loss, 5);
    expect(got.statistics.computedTokens).toBe(8);
    trainer.dispose();
    model.dispose();
  });

  it("gives two equal samples twice the gradient of one", async () => {
    const { model, trainer } = await open(llamaConfig);
    const one = row([4, 9, 2, 30], new Rng(seedKey(4)));
    await trainer.computeGradients([one], ppo);
    const single = await allGradients(trainer);
    await trainer.computeGradients([one, one], ppo);
    const twice = await allGradients(trainer);
    expect(
      relativeDistance(
        twice,
        single.map((g) => 2 * g),
      ),
    ).toBeLessThan(1e-6);
    trainer.dispose();
    model.dispose();
  });

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

  it("lets others use the device between quanta, with the same result", async () => {
    const { model, trainer } = await open(llamaConfig);
    const rows = randomRows(3, 40, new Rng(seedKey(8)));
    await trainer.computeGradients(rows, ppo);
    const expected = await allGradients(trainer);
    let turns = 0;
    await trainer.computeGradients(rows, ppo, {
      between: async () => {
        turns++;
      },
    });
    expect(turns).toBeGreaterThanOrEqual(2 * model.description.layers);
    expect(Array.from(await allGradients(trainer))).toEqual(Array.from(expected));
    trainer.dispose();
    model.dispose();
  });

  it("frees everything, and takes about the memory that was planned", async () => {
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
      const head = 512 * 4 * (model.description.vocabSize + 2 * model.description.width + 24);
      const perToken = (trainer.activationBytes - head) / 512;
      const planned = activationBytesPerToken(model.description);
      expect(perToken / planned, `${json.model_type}: ${perToken} of ${planned}`).toBeLessThan(1.15);
      expect(perToken / planned, `${json.model_type}: ${perToken} of ${planned}`).toBeGreaterThan(0.7);
      trainer.dispose();
      model.dispose();
    }
    await device.idle();
    expect(device.pool.usage.buffers).toBe(before);
  });
});
