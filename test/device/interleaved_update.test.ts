// Plan: gradients computed between decode bursts, and a step taken over sequences in flight, on a real device: the weights
// are those of an undisturbed step to the last bit; a step collected in parts and scaled is that of the whole batch; tokens
// drawn after the step with recomputed keys and values are the new policy's own, those with kept ones need not be. And the
// size of micro-batches, which is measured as training goes on, changes no bit.
import { describe, expect, it } from "#test";
import { Rng, seedKey } from "../../src/core/rng.ts";
import { engineDefaults } from "../../src/engine/engine_options.ts";
import { LocalEngine } from "../../src/engine/local_engine.ts";
import { ModelParts } from "../../src/engine/model_parts.ts";
import { parseHfConfig } from "../../src/io/hf_config.ts";
import { Model } from "../../src/model/model.ts";
import type { InFlightPolicy } from "../../src/schedule/device_schedule.ts";
import type { GenerateRequest, TrainRow, UpdateRequest } from "../../src/schema/engine.ts";
import { llamaConfig, qwen3Config } from "../model/configs.ts";
import { openTestDevice } from "../runtime/gpu.ts";
import { adamw, allGradients, open, ppo, randomRows } from "./training_rows.ts";

const clock = { now: () => 0, monotonic: () => performance.now(), sleep: async () => {} };
const vocabulary = 40;

async function openEngine(inFlight: InFlightPolicy): Promise<LocalEngine> {
  const options = { ...engineDefaults, modelFolder: "", kvTokens: 1024, maxSequences: 8, microBatchTokens: 32 };
  const device = await openTestDevice();
  const model = Model.initialize(device, parseHfConfig(qwen3Config), { seed: 5, std: 0.3 });
  const parts = new ModelParts({ model, options, clock, decodeText: () => "" });
  const policy = { inFlight, stepsPerQuantum: 1 };
  return LocalEngine.open({ open: async () => parts, clock, limits: options, version: 0, faults: [], policy });
}

function request(id: string, maxTokens: number): GenerateRequest {
  return {
    id,
    promptIds: Int32Array.from([3, 1, 4, 1, 5, 9, 2, 6]),
    maxTokens,
    sampling: { temperature: 1, topK: 0, topP: 1, minP: 0 },
    key: [7, 7],
    stopIds: [],
    stopStrings: [],
  };
}

const rows = randomRows(12, vocabulary, new Rng(seedKey(9)));
const update = (more: Partial<UpdateRequest> = {}): UpdateRequest => ({
  id: "u",
  rows,
  loss: ppo,
  optimizer: adamw,
  ...more,
});

async function weightsAfter(engine: LocalEngine): Promise<string> {
  const { weightsSha256 } = await engine.snapshot({ optimizer: false });
  await engine.close();
  return weightsSha256;
}

function scaled(row: TrainRow, factor: number): TrainRow {
  return { ...row, weight: row.weight.map((w) => w * factor) };
}

describe("an update between bursts", () => {
  it("computes what an undisturbed one does, and sequences go on over it", async () => {
    const plain = await openEngine("drain");
    // Few rows: the step comes while the sequence is under way.
    const few = update({ rows: rows.slice(0, 3) });
    await plain.update(few);
    const expected = await weightsAfter(plain);
    for (const inFlight of ["keep", "recompute"] as const) {
      const engine = await openEngine(inFlight);
      const running = engine.generate(request("a", 48));
      const result = await engine.update(few);
      expect(result.version).toBe(1);
      const { ids, logprobs, versions } = await running;
      expect(ids).toHaveLength(48);
      const changed = versions.indexOf(1);
      expect(changed).toBeGreaterThan(0);
      const all = Int32Array.from([...request("a", 1).promptIds, ...ids]);
      const scores = await engine.score({ id: "s", ids: all, temperature: 1 });
      const differences = Array.from(ids, (_, t) =>
        Math.abs((scores.logprobs[8 + t] as number) - (logprobs[t] as number)),
      );
      const later = Math.max(...differences.slice(changed));
      if (inFlight === "recompute") expect(later).toBeLessThan(1e-4);
      else expect(later).toBeGreaterThan(1e-4);
      expect(Math.max(...differences.slice(0, changed))).toBeGreaterThan(1e-4);
      expect(await weightsAfter(engine)).toBe(expected);
    }
  });

  it("takes the whole batch's step from parts that are normalised at the end", async () => {
    const whole = await openEngine("keep");
    const result = await whole.update(update());
    const parts = await openEngine("keep");
    for (const from of [0, 5, 9]) {
      const share = rows.slice(from, from === 0 ? 5 : from + 4).map((row) => scaled(row, 12));
      await parts.accumulate({ id: `p${from}`, rows: share, loss: ppo });
    }
    const stepped = await parts.update(update({ rows: [], accumulated: true, gradientScale: 1 / 12 }));
    expect(Math.abs(stepped.gradNorm / result.gradNorm - 1)).toBeLessThan(1e-5);
    expect(Math.abs(stepped.loss - result.loss)).toBeLessThan(1e-5 * Math.max(1, Math.abs(result.loss)));
    expect(stepped.tokens).toBe(result.tokens);
    expect(stepped.entropy).toBeCloseTo(result.entropy, 5);
    await whole.close();
    await parts.close();
  });

  it("has gradients that do not depend, to the last bit, on how many tokens a micro-batch takes", async () => {
    const gradients: Float32Array[] = [];
    for (const tokens of [16, 64, 1024]) {
      const { model, trainer } = await open(llamaConfig, tokens);
      await trainer.computeGradients(rows, ppo);
      gradients.push(await allGradients(trainer));
      trainer.dispose();
      model.dispose();
    }
    for (const other of gradients.slice(1)) expect(Array.from(other)).toEqual(Array.from(gradients[0] as Float32Array));
  });
});
