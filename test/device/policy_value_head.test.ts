// Plan: the value head's loss is float64's; a step's gradients are those of policy loss plus value loss, for every family
// and under LoRA; stopped, they leave the policy's as they were; the split into micro-batches changes no bit; one norm
// clips both, one bad number skips both; the head learns alone and with the policy, is valued in the scoring pass, goes on
// from its files, and is asked for nothing it has not.
import { describe, expect, it } from "#test";
import { Rng, seedKey } from "../../src/core/rng.ts";
import { encodeSafetensors } from "../../src/io/safetensors.ts";
import { memoryWeights } from "../../src/model/memory_weights.ts";
import { namedTensors } from "../../src/model/model.ts";
import { ValueHead } from "../../src/model/value_head.ts";
import { valueLoss as tokenValueLoss } from "../../src/rl/losses/value_loss.ts";
import type { TrainRow } from "../../src/schema/engine.ts";
import { RowScorer } from "../../src/train/score_rows.ts";
import { Trainer } from "../../src/train/trainer.ts";
import { allConfigs, llamaConfig, qwen3Config } from "../model/configs.ts";
import { testDevice } from "../ops/opcheck.ts";
import { stillClock } from "../runtime/still_clock.ts";
import { adamw, open, ppo, randomRows } from "./training_rows.ts";
import { moveTo, numbersOf, openValued, type ValuedPolicy, valuedRows, valueLoss } from "./value_rows.ts";

const still = { ...adamw, learningRate: 0, weightDecay: 0 };

/** Without the clip, whose kinks differences see. */
const smooth = { ...valueLoss, clipRange: 0, learningRate: 0 };

/** Policy loss plus coef times value loss, nothing moved. */
async function lossOf({ trainer }: ValuedPolicy, rows: readonly TrainRow[]): Promise<number> {
  const { loss, value } = await trainer.step(rows, ppo, still, { value: smooth });
  return loss + smooth.coef * (value?.loss ?? Number.NaN);
}

async function gradientsOf({ trainer }: ValuedPolicy): Promise<{ policy: number[]; head: number[] }> {
  const { gradients, valueHead } = trainer;
  return { policy: await numbersOf(gradients), head: valueHead === null ? [] : await numbersOf(valueHead.gradients) };
}

function norm(values: readonly number[]): number {
  return Math.sqrt(values.reduce((sum, v) => sum + v * v, 0));
}

describe("a value head on the policy's hidden states", () => {
  for (const [json, lora] of [...allConfigs.map((each) => [each, false] as const), [qwen3Config, true] as const]) {
    it(`has the gradient of both losses: ${json.model_type}${lora ? " under LoRA" : ""}`, async () => {
      const valued = await openValued(json, { lora });
      const { policy, head, trainer } = valued;
      const rows = valuedRows(3, json.vocab_size as number, 1);
      await trainer.computeGradients(rows, ppo, { value: smooth });
      const gradients = await gradientsOf(valued);
      const start = { policy: await numbersOf(policy.trained), head: await numbersOf(head.parameters) };
      const size = norm([...gradients.policy, ...gradients.head]);
      const at = (step: number): Promise<number> => {
        moveTo(policy.trained, start.policy, gradients.policy, step / size);
        moveTo(head.parameters, start.head, gradients.head, step / size);
        return lossOf(valued, rows);
      };
      const h = 1e-3;
      const slope = (8 * ((await at(h)) - (await at(-h))) - ((await at(2 * h)) - (await at(-2 * h)))) / (12 * h);
      expect(Math.abs(slope / size - 1)).toBeLessThan(5e-4);
      valued.close();
    });
  }

  it("computes float64's loss of the values it gives, and their gradient of its bias", async () => {
    const valued = await openValued(llamaConfig);
    const rows = valuedRows(5, 40, 2);
    const values = await (valued.trainer.valueHead as NonNullable<Trainer["valueHead"]>).values(rows);
    await valued.trainer.computeGradients(rows, ppo, { value: valueLoss });
    const { head } = await gradientsOf(valued);
    const ones = [...values].map(() => 1);
    const flat = (name: "oldValue" | "returns" | "weight") => rows.flatMap((row) => [...(row[name] as Float32Array)]);
    const want = tokenValueLoss(values, flat("oldValue"), flat("returns"), ones, valueLoss.clipRange);
    const weight = flat("weight");
    const sum = (of: Float64Array): number => of.reduce((total, v, r) => total + (weight[r] as number) * v, 0);
    const result = await valued.trainer.step(rows, ppo, still, { value: { ...valueLoss, learningRate: 0 } });
    expect(result.value?.loss).toBeCloseTo(sum(want.loss), 5);
    expect(head.at(-1)).toBeCloseTo(valueLoss.coef * sum(want.grad), 5);
    const clipped = want.grad.filter((g) => g === 0).length;
    expect(clipped).toBeGreaterThan(2);
    expect(result.value?.clipFrac).toBeGreaterThan(0);
    valued.close();
  });

  it("stopped, leaves the policy's gradients as they are without it, to the last bit", async () => {
    const rows = valuedRows(6, 40, 3);
    const plain = await open(llamaConfig);
    await plain.trainer.computeGradients(rows, ppo);
    const valued = await openValued(llamaConfig);
    await valued.trainer.computeGradients(rows, ppo, { value: valueLoss });
    const whole = await gradientsOf(valued);
    await valued.trainer.computeGradients(rows, ppo, { value: { ...valueLoss, gradient: "head" } });
    const stopped = await gradientsOf(valued);
    const without = await numbersOf(plain.trainer.gradients);
    expect(stopped.policy).toEqual(without);
    expect(stopped.head).toEqual(whole.head);
    expect(whole.policy).not.toEqual(without);
    plain.trainer.dispose();
    plain.model.dispose();
    valued.close();
  });

  it("does not depend on the split into micro-batches, to the last bit", async () => {
    const rows = valuedRows(9, 40, 4);
    const all = [];
    for (const microBatchTokens of [256, 16]) {
      const valued = await openValued(qwen3Config, { microBatchTokens });
      await valued.trainer.step(rows, ppo, adamw, { value: valueLoss });
      all.push([await numbersOf(valued.policy.trained), await numbersOf(valued.head.parameters)]);
      valued.close();
    }
    expect(all[1]).toEqual(all[0]);
  });

  it("is clipped by one norm with the policy, and one number that is none skips both", async () => {
    const valued = await openValued(llamaConfig);
    const { trainer, head, policy } = valued;
    const rows = valuedRows(4, 40, 5);
    await trainer.computeGradients(rows, ppo, { value: valueLoss });
    const { policy: ofPolicy, head: ofHead } = await gradientsOf(valued);
    const before = [await numbersOf(policy.trained), await numbersOf(head.parameters)];
    const broken = rows.map((row) => ({ ...row, returns: row.returns?.map(() => Number.NaN) as Float32Array }));
    const stopped = { ...valueLoss, gradient: "head" } as const;
    expect((await trainer.step(broken, ppo, adamw, { value: stopped })).skipped).toBe("nan_gradient");
    expect([await numbersOf(policy.trained), await numbersOf(head.parameters)]).toEqual(before);
    const result = await trainer.step(rows, ppo, adamw, { value: valueLoss });
    expect(result.gradNorm).toBeCloseTo(norm([...ofPolicy, ...ofHead]), 4);
    expect(await numbersOf(head.parameters)).not.toEqual(before[1]);
    valued.close();
  });

  it("learns returns beside the policy, and alone with the policy at rest", async () => {
    const valued = await openValued(llamaConfig);
    const { trainer, policy } = valued;
    const rows = valuedRows(6, 40, 6).map((row) => ({
      ...row,
      weight: row.weight.map(() => 0.02),
      returns: Float32Array.from(row.src, (t) => ((row.ids[t] as number) % 3) / 2),
    }));
    const value = { ...valueLoss, clipRange: 0 };
    const first = await trainer.step(rows, ppo, adamw, { value });
    let last = first;
    for (let i = 0; i < 30; i++) last = await trainer.step(rows, ppo, adamw, { value });
    expect(last.value?.loss).toBeLessThan(0.3 * (first.value?.loss as number));
    const before = await numbersOf(policy.trained);
    const head = trainer.valueHead as NonNullable<Trainer["valueHead"]>;
    const shifted = rows.map((row) => ({ ...row, returns: row.returns.map((v) => v + 1) }));
    const how = { optimizer: { ...adamw, learningRate: 0.05 }, clipRange: 0 };
    const alone = await head.step(shifted, how);
    let end = alone;
    for (let i = 0; i < 20; i++) end = await head.step(shifted, how);
    expect(end.loss).toBeLessThan(0.3 * alone.loss);
    expect(await numbersOf(policy.trained)).toEqual(before);
    valued.close();
  });

  it("gives the same values in the scoring pass as alone, and goes on from its files", async () => {
    const valued = await openValued(llamaConfig);
    const { trainer, policy } = valued;
    const head = trainer.valueHead as NonNullable<Trainer["valueHead"]>;
    const rows = valuedRows(5, 40, 7);
    await trainer.step(rows, ppo, adamw, { value: valueLoss });
    const scorer = new RowScorer(policy, 32, head.tensors);
    const scores = await scorer.score(rows, 0.8, { values: true });
    expect(scores.values).toEqual(await head.values(rows));
    expect((await scorer.score(rows, 0.8)).values).toBeNull();
    expect((await scorer.score(rows, 0.8)).logprobs).toEqual(scores.logprobs);
    const { savedForm, parameters } = valued.head;
    const bytes = await encodeSafetensors(namedTensors(savedForm, await parameters.toHost()));
    const moments = await head.optimizerFile();
    const saved = await ValueHead.load(await testDevice(), 16, await memoryWeights("value_head.safetensors", bytes));
    const again = new Trainer(policy, { microBatchTokens: 64, clock: stillClock, valueHead: saved });
    await again.valueHead?.restoreOptimizer(moments);
    const how = { optimizer: adamw, clipRange: 0.2 };
    await head.step(rows, how);
    await again.valueHead?.step(rows, how);
    expect(await numbersOf(saved.parameters)).toEqual(await numbersOf(parameters));
    scorer.dispose();
    again.dispose();
    saved.dispose();
    valued.close();
  });

  it("is refused where there is none, and wants values and returns", async () => {
    const { model, trainer } = await open(llamaConfig);
    const bare = randomRows(2, 40, new Rng(seedKey(1)));
    await expect(trainer.step(bare, ppo, adamw, { value: valueLoss })).rejects.toThrow(
      "A value loss was asked for, and this policy has no value head.",
    );
    const valued = await openValued(llamaConfig);
    await expect(valued.trainer.step(bare, ppo, adamw, { value: valueLoss })).rejects.toThrow(
      "Training row 0 lacks a value or a return for some of its records.",
    );
    trainer.dispose();
    model.dispose();
    valued.close();
  });
});
