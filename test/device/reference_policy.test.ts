import { describe, expect, it } from "#test";
import { parseHfConfig } from "../../src/io/hf_config.ts";
import { Model } from "../../src/model/model.ts";
import { Scorer } from "../../src/model/scorer.ts";
import type { TrainRow } from "../../src/schema/engine.ts";
import type { LossConfig } from "../../src/schema/loss.ts";
import { ReferencePolicy } from "../../src/train/reference_policy.ts";
import { Trainer } from "../../src/train/trainer.ts";
import { qwen3Config } from "../model/configs.ts";
import { testDevice } from "../ops/opcheck.ts";

const clock = { now: () => 0, monotonic: () => performance.now(), sleep: async () => {} };

const loss: LossConfig = {
  kind: "ppo",
  temperature: 0.7,
  clipLow: 0.2,
  clipHigh: 0.28,
  dualClip: 3,
  klCoef: 0.5,
  klKind: "k3",
  entropyCoef: 0,
};

function rowOf(ids: readonly number[], first: number): TrainRow {
  const src = Int32Array.from({ length: ids.length - first }, (_, i) => first - 1 + i);
  return {
    ids: Int32Array.from(ids),
    src,
    target: src.map((t) => ids[t + 1] as number),
    weight: new Float32Array(src.length).fill(0.1),
    advantage: new Float32Array(src.length),
    oldLogprob: new Float32Array(src.length).fill(-2),
  };
}

const rows = [rowOf([1, 5, 9, 2, 7, 7, 3], 3), rowOf([4, 4, 8, 11, 2], 1), rowOf([30, 2, 17, 6, 5, 1, 0, 12, 9], 5)];

describe("ReferencePolicy", () => {
  it("fills in what the frozen model gives each target, whatever the micro-batches, and leaves given values alone", async () => {
    const device = await testDevice();
    const model = Model.initialize(device, parseHfConfig(qwen3Config), { seed: 21, std: 0.4 });
    const scorer = new Scorer(model, 32);
    for (const microBatchTokens of [9, 64]) {
      const reference = new ReferencePolicy(model, microBatchTokens);
      const given = { ...(rows[1] as TrainRow), refLogprob: new Float32Array(4).fill(-9) };
      const filled = await reference.fill([rows[0] as TrainRow, given, rows[2] as TrainRow], loss);
      expect(filled[1]).toBe(given);
      for (const i of [0, 2]) {
        const row = filled[i] as TrainRow;
        const { logprobs } = await scorer.score(row.ids, loss.temperature);
        for (let r = 0; r < row.src.length; r++) {
          expect((row.refLogprob as Float32Array)[r] as number).toBeCloseTo(
            logprobs[(row.src[r] as number) + 1] as number,
            5,
          );
        }
      }
      reference.dispose();
    }
    scorer.dispose();
    model.dispose();
  });

  it("makes a KL term that is zero at the reference and pulls back to it from elsewhere", async () => {
    const device = await testDevice();
    const base = Model.initialize(device, parseHfConfig(qwen3Config), { seed: 22, std: 0.4 });
    const moved = Model.initialize(device, parseHfConfig(qwen3Config), { seed: 23, std: 0.4 });
    const reference = new ReferencePolicy(base, 64);
    const filled = await reference.fill(rows, loss);
    const optimizer = { learningRate: 3e-3, beta1: 0.9, beta2: 0.95, eps: 1e-8, weightDecay: 0, maxGradNorm: 0 };

    const still = new Trainer(base, { microBatchTokens: 64, clock });
    const { statistics } = await still.computeGradients(filled, loss);
    expect(Math.abs(statistics.loss)).toBeLessThan(1e-6);
    still.dispose();

    const trainer = new Trainer(moved, { microBatchTokens: 64, clock });
    const losses: number[] = [];
    for (let step = 0; step < 6; step++) losses.push((await trainer.step(filled, loss, optimizer)).loss);
    expect(losses.at(-1) as number).toBeLessThan(0.9 * (losses[0] as number));
    trainer.dispose();
    reference.dispose();
    for (const model of [base, moved]) model.dispose();
  });
});
