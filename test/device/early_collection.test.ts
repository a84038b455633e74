// Plan: on a real device, an update collected group by group while a sequence is being decoded takes the step of an update
// taken at the end, where models are asked about the groups: importance weights from recomputed log-probabilities, and a
// KL to a reference in the loss and in the rewards. The two add their gradients in different orders: equal to 1e-5.
import { describe, expect, it } from "#test";
import { Rng, seedKey } from "../../src/core/rng.ts";
import { engineDefaults } from "../../src/engine/engine_options.ts";
import { LocalEngine } from "../../src/engine/local_engine.ts";
import { ModelParts } from "../../src/engine/model_parts.ts";
import { parseConfig } from "../../src/experiment/config.ts";
import { reasonsToWait } from "../../src/experiment/early_collection.ts";
import { objectiveOf } from "../../src/experiment/objective.ts";
import { takeUpdate } from "../../src/experiment/take_update.ts";
import { UpdateCollector } from "../../src/experiment/update_collector.ts";
import { parseHfConfig } from "../../src/io/hf_config.ts";
import { Model } from "../../src/model/model.ts";
import type { GroupRecord } from "../../src/rl/batch/batch_input.ts";
import { qwen3Config } from "../model/configs.ts";
import { call, group, rollout } from "../rl/groups.ts";
import { openTestDevice } from "../runtime/gpu.ts";
import { stillClock as clock } from "../runtime/still_clock.ts";

const vocabulary = 40;

async function openEngine(): Promise<LocalEngine> {
  const options = { ...engineDefaults, modelFolder: "", kvTokens: 1024, maxSequences: 8, microBatchTokens: 32 };
  const device = await openTestDevice();
  const config = parseHfConfig(qwen3Config);
  const model = Model.initialize(device, config, { seed: 5, std: 0.3 });
  const reference = Model.initialize(device, config, { seed: 6, std: 0.3 });
  const parts = new ModelParts({ model, reference, options, clock, decodeText: () => "" });
  const policy = { inFlight: "keep", stepsPerQuantum: 1 } as const;
  return LocalEngine.open({ open: async () => parts, clock, limits: options, version: 0, faults: [], policy });
}

/** Three groups of three rollouts with one or two calls; what was drawn is nowhere near the model's own taste. */
function someGroups(): GroupRecord[] {
  const rng = new Rng(seedKey(3));
  const ids = (n: number): number[] => Array.from({ length: n }, () => rng.below(vocabulary));
  const drawn = (prompt: number[]) => {
    const reply = ids(2 + rng.below(4));
    return call(prompt, reply, { logprobs: reply.map(() => -3.5 + rng.normal()) });
  };
  return ["a", "b", "c"].map((name) => {
    const prompt = ids(4);
    return group(
      name,
      [0, 1, 2].map((i) =>
        rollout(`${name}${i}`, rng.normal(), i === 2 ? [drawn(prompt), drawn(ids(3))] : [drawn(prompt)]),
      ),
    );
  });
}

function terms(train: object) {
  const config = parseConfig({
    ...{ model: { path: "m" }, task: { dataset: "d" }, rollout: { command: ["c"] } },
    ...{ train: { learningRate: 0.01, ...train }, schedule: { mode: "interleaved" } },
  });
  expect(reasonsToWait(config)).toEqual([]);
  return objectiveOf(config.train, { seed: 1, update: 1, klCoef: config.train.klCoef });
}

const request = {
  ...{ id: "g", promptIds: Int32Array.from([3, 1, 4, 1, 5]), maxTokens: 40, key: [7, 7] as const },
  ...{ sampling: { temperature: 1, topK: 0, topP: 1, minP: 0 }, stopIds: [], stopStrings: [] },
};

describe("an update collected while others are at work", () => {
  for (const [name, train] of [
    ["truncated importance weights", { correction: "token", normalisation: "token-mean" }],
    ["masked ones and a KL in the loss", { correction: "token", correctionBound: "mask", klCoef: 0.3, loss: "gspo" }],
    ["a KL in the rewards", { klCoef: 0.3, klIn: "reward", advantage: "rloo" }],
  ] as const) {
    it(`is the update taken at the end, with ${name}`, async () => {
      const objective = terms(train);
      const groups = someGroups();
      const late = await openEngine();
      const expected = await takeUpdate({ engine: late, clock }, "u", groups, objective);
      const early = await openEngine();
      const running = early.generate(request);
      const collector = new UpdateCollector({ engine: early, clock });
      const started = [...groups].reverse();
      for (const g of started) collector.collect(g.id, async () => g, objective);
      const taken = await collector.take("u", started, objective);
      await running;
      const [one, other] = [taken.steps[0], expected.steps[0]];
      expect(one?.version).toBe(1);
      expect(Math.abs((one?.gradNorm ?? 0) / (other?.gradNorm ?? 0) - 1)).toBeLessThan(1e-5);
      expect(Math.abs((one?.loss ?? 0) - (other?.loss ?? 0))).toBeLessThan(
        1e-5 * Math.max(1, Math.abs(other?.loss ?? 0)),
      );
      for (const field of ["kl", "entropy", "clipFrac", "approxKl"] as const) {
        expect(Math.abs((one?.[field] ?? 0) - (other?.[field] ?? 0)), field).toBeLessThan(1e-5);
      }
      for (const [metric, value] of Object.entries(expected.batch.metrics)) {
        expect(Math.abs((taken.batch.metrics[metric] as number) - value), metric).toBeLessThan(
          1e-4 * Math.max(1, value),
        );
      }
      const ids = Int32Array.from([9, 2, 33, 17, 5, 21, 8]);
      const [now, then] = [
        await early.score({ id: "s", ids, temperature: 1 }),
        await late.score({ id: "s", ids, temperature: 1 }),
      ];
      for (const [t, logprob] of now.logprobs.entries()) expect(logprob).toBeCloseTo(then.logprobs[t] as number, 3);
      await early.close();
      await late.close();
    });
  }
});
