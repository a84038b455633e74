// Plan: gradients agree with differences of the loss for every family; the split into micro-batches, packing and trees
// change nothing but rounding; two equal samples count twice; quanta change nothing.
import { describe, expect, it } from "#test";
import { Rng, seedKey } from "../../src/core/rng.ts";
import type { TrainRow } from "../../src/schema/engine.ts";
import { allConfigs, llamaConfig, qwen3Config } from "../model/configs.ts";
import { allGradients, open, ppo, randomRows, relativeDistance, row } from "./training_rows.ts";

describe("gradients of a training step", () => {
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

  for (const json of allConfigs) {
    it(`computes the same to the last bit when blocks are recomputed: ${json.model_type}`, async () => {
      const rows = randomRows(9, json.vocab_size as number, new Rng(seedKey(6)));
      const kept = await open(json);
      const expected = await kept.trainer.computeGradients(rows, ppo);
      const gradients = await allGradients(kept.trainer);
      const layers = kept.model.description.layers;
      const bytes = [kept.trainer.activationBytes];
      for (const recomputedLayers of [1, layers]) {
        const again = await open(json, 256, { recomputedLayers });
        const got = await again.trainer.computeGradients(rows, ppo);
        expect(Array.from(got.stats)).toEqual(Array.from(expected.stats));
        expect(Array.from(await allGradients(again.trainer))).toEqual(Array.from(gradients));
        bytes.push(again.trainer.activationBytes);
        again.trainer.dispose();
        again.model.dispose();
      }
      expect(bytes).toEqual(bytes.toSorted((a, b) => b - a));
      expect(bytes.at(-1)).toBeLessThan(bytes[0] as number);
      kept.trainer.dispose();
      kept.model.dispose();
    });
  }

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
});
