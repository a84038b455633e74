// Plan: thirty training steps by plans (one arena laid out by liveness, dispatches that nobody uses left out, one submit)
// equal the same steps by naive plans (a buffer per temporary, everything computed, a submit per dispatch) to the last
// bit: losses, norms, log-probabilities, weights and moments, with blocks kept and with blocks computed again, for full
// training and an adapter's. Naive plans are what they claim to be.
import { describe, expect, it } from "#test";
import { Rng, seedKey } from "../../src/core/rng.ts";
import type { Device } from "../../src/gpu/device.ts";
import { PlanBuilder } from "../../src/gpu/plan_builder.ts";
import { parseHfConfig } from "../../src/io/hf_config.ts";
import { AdaptedModel } from "../../src/model/lora/adapted_model.ts";
import { Adapter } from "../../src/model/lora/adapter.ts";
import { Model } from "../../src/model/model.ts";
import { rmsnorm } from "../../src/ops/rmsnorm.ts";
import type { TrainRow } from "../../src/schema/engine.ts";
import { Trainer, type TrainerOptions } from "../../src/train/trainer.ts";
import { gpt2Config, llamaConfig, qwen3Config } from "../model/configs.ts";
import { openTestDevice } from "../runtime/gpu.ts";
import { stillClock } from "../runtime/still_clock.ts";
import { adamw, ppo, randomRows } from "./training_rows.ts";

const stepCount = 30;
const microBatchTokens = 32;

async function deviceOf(naive: boolean): Promise<Device> {
  const device = await openTestDevice();
  device.naivePlans = naive;
  return device;
}

/** Steps of one to five rows, so that most take several micro-batches and plans are built anew for larger ones. */
function stepRows(vocab: number): TrainRow[][] {
  const rng = new Rng(seedKey(31));
  return Array.from({ length: stepCount }, (_, i) => randomRows(1 + (i % 5), vocab, rng));
}

/** Everything that the steps give: per step loss, norm and log-probabilities; at the end the optimizer and weights. */
async function trajectory(model: Model, trainer: Trainer, steps: readonly TrainRow[][]) {
  const each: unknown[] = [];
  for (const rows of steps) {
    const { loss, gradNorm, entropy, skipped, logprobs } = await trainer.step(rows, ppo, adamw);
    each.push({ loss, gradNorm, entropy, skipped, logprobs: Array.from(logprobs) });
  }
  return { each, moments: await trainer.optimizerFile(), weights: await model.sha256() };
}

async function fullTraining(json: Record<string, unknown>, naive: boolean, options: Partial<TrainerOptions> = {}) {
  const device = await deviceOf(naive);
  const model = Model.initialize(device, parseHfConfig(json), { seed: 11, std: 0.3 });
  const trainer = new Trainer(model, { microBatchTokens, clock: stillClock, ...options });
  const result = await trajectory(model, trainer, stepRows(model.description.vocabSize));
  device.close();
  return result;
}

async function adapterTraining(naive: boolean) {
  const device = await deviceOf(naive);
  const model = Model.initialize(device, parseHfConfig(qwen3Config), { seed: 11, std: 0.3 });
  const adapter = Adapter.create(model, "test", { rank: 3, alpha: 6, targets: "all-linear", rslora: false }, 5);
  const trainer = new Trainer(new AdaptedModel(model, adapter), { microBatchTokens, clock: stillClock });
  const result = await trajectory(model, trainer, stepRows(model.description.vocabSize));
  device.close();
  return result;
}

/** What the naive plans of a model gave; several tests compare with it. */
const naiveResults = new Map<Record<string, unknown>, ReturnType<typeof fullTraining>>();

function naiveTraining(json: Record<string, unknown>): ReturnType<typeof fullTraining> {
  const result = naiveResults.get(json) ?? fullTraining(json, true);
  naiveResults.set(json, result);
  return result;
}

describe("plans and naive plans", () => {
  for (const json of [llamaConfig, gpt2Config]) {
    it(`take the same ${stepCount} steps, bit by bit: ${json.model_type}`, async () => {
      const naive = await naiveTraining(json);
      expect(await fullTraining(json, false)).toEqual(naive);
      // The trajectory moves: what is compared is not a model that stays as it was.
      expect(naive.each.every((step) => (step as { skipped: unknown }).skipped === null)).toBe(true);
      expect(new Set(naive.each.map((step) => (step as { loss: number }).loss)).size).toBe(stepCount);
    });
  }

  it("take the same steps where blocks are computed again", async () => {
    const naive = await naiveTraining(llamaConfig);
    expect(await fullTraining(llamaConfig, false, { recomputedLayers: 2 })).toEqual(naive);
  });

  it("take the same steps of an adapter", async () => {
    expect(await adapterTraining(false)).toEqual(await adapterTraining(true));
  });

  it("differ in what they ask of the device alone", async () => {
    const counts: Record<string, number>[] = [];
    for (const naive of [false, true]) {
      const device = await deviceOf(naive);
      const builder = new PlanBuilder(device, "norms");
      const w = builder.input("w", [4]);
      let x = builder.input("x", [2, 4]);
      for (let i = 0; i < 3; i++) x = rmsnorm.forward(builder, { x, w }).out.y;
      builder.output("y", x);
      rmsnorm.forward(builder, { x, w });
      const before = device.pool.usage.created;
      const plan = await builder.build();
      const created = device.pool.usage.created - before;
      const { submits } = device.counters;
      const { y } = await plan.run(
        {},
        { w: new Float32Array(4).fill(1), x: Float32Array.from([1, 2, 3, 4, 5, 6, 7, 8]) },
      );
      counts.push({ dispatches: plan.dispatchCount, submits: device.counters.submits - submits, created });
      expect((y as Float32Array)[0]).toBeCloseTo(1 / Math.sqrt(7.5), 4);
      device.close();
    }
    // Arena and uniforms; or y and rstd of four norms and the uniforms.
    expect(counts).toEqual([
      { dispatches: 3, submits: 1, created: 2 },
      { dispatches: 4, submits: 4, created: 9 },
    ]);
  });
});
