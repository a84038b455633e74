// Plan: an update collected group by group is the whole batch's, for every normalisation: weights after the step's factor,
// numbers, and order of rows; what makes a configuration unfit for it.
import { describe, expect, it } from "vitest";
import { parseConfig } from "../../src/experiment/config.ts";
import { objectiveOf } from "../../src/experiment/objective.ts";
import { collectsEarly, UpdateCollector } from "../../src/experiment/update_collector.ts";
import { batchFor } from "../../src/experiment/update_step.ts";
import type { GroupRecord } from "../../src/rl/batch/batch_input.ts";
import { normalisations } from "../../src/rl/normalisation.ts";
import type { AccumulateRequest, Engine, EngineInfo, TrainRow, UpdateRequest } from "../../src/schema/engine.ts";
import { call, group, rollout } from "../rl/groups.ts";

/** Groups of different sizes; one whose rewards are equal, and one rollout without calls. */
function someGroups(): GroupRecord[] {
  return [
    group("a", [rollout("a0", 0, [call([1], [2, 3, 4])]), rollout("a1", 1, [call([1], [5]), call([9, 9], [6, 7])])]),
    group("b", [rollout("b0", 1, [call([2], [2])]), rollout("b1", 1, [call([2], [3, 3])])]),
    group("c", [
      rollout("c0", 0, [call([3], [8, 8, 8, 8])]),
      rollout("c1", 2, []),
      rollout("c2", 0.5, [call([3], [1])]),
    ]),
  ];
}

/** An engine that keeps what it is asked. */
class KeepingEngine {
  readonly rows: TrainRow[] = [];
  update_: UpdateRequest | null = null;
  info = async () => ({ version: 3, microBatchTokens: 1000 }) as EngineInfo;

  accumulate = async ({ rows }: AccumulateRequest) => {
    this.rows.push(...rows);
    return { logprobs: Float32Array.from(rows.flatMap((row) => Array.from(row.target, (id) => -id))), trainMs: 2 };
  };

  update = async (request: UpdateRequest) => {
    this.update_ = request;
    return { version: 4, skipped: null, logprobs: new Float32Array(0), trainMs: 1 };
  };
}

const config = (train: object, schedule: object = {}) =>
  parseConfig({
    model: { path: "m" },
    task: { dataset: "d" },
    rollout: { command: ["c"] },
    train,
    schedule: { mode: "interleaved", ...schedule },
  });

describe("UpdateCollector", () => {
  for (const normalisation of normalisations) {
    it(`takes the whole batch's update, normalised as ${normalisation}`, async () => {
      const { train } = config({ normalisation, normalisationLength: 7, entropyCoef: 0.01 });
      const objective = objectiveOf(train, { seed: 1, update: 1, klCoef: 0 });
      const groups = someGroups();
      const kept = new KeepingEngine();
      const engine = kept as unknown as Engine;
      const whole = batchFor(await kept.info(), groups, objective);
      const collector = new UpdateCollector(engine);
      for (const g of groups) collector.collect(g.id, async () => g, objective);
      const taken = await collector.take("u", groups, objective);
      const { accumulated, gradientScale = 1, rows } = kept.update_ as UpdateRequest;
      expect([accumulated, rows]).toEqual([true, []]);
      expect(kept.rows).toHaveLength(whole.rows.length);
      for (const [i, row] of whole.rows.entries()) {
        const sent = kept.rows[i] as TrainRow;
        expect(Array.from(sent.ids)).toEqual(Array.from(row.ids));
        expect(Array.from(sent.advantage)).toEqual(Array.from(row.advantage));
        for (const [r, weight] of row.weight.entries()) {
          expect((sent.weight[r] as number) * gradientScale).toBeCloseTo(weight, 6);
        }
      }
      expect(taken.batch.metrics).toEqual(whole.metrics);
      expect(taken.batch.rows).toHaveLength(whole.rows.length);
      const targets = whole.rows.flatMap((row) => Array.from(row.target));
      expect(Array.from(taken.logprobs)).toEqual(targets.map((id) => -id));
      expect(taken.steps[0]).toMatchObject({ version: 4, trainMs: 7 });
    });
  }

  it("adds groups in the order they were collected in, however long each takes to read", async () => {
    const objective = objectiveOf(config({}).train, { seed: 1, update: 1, klCoef: 0 });
    const engine = new KeepingEngine();
    const collector = new UpdateCollector(engine as unknown as Engine);
    const groups = someGroups();
    const waiting: (() => void)[] = [];
    for (const g of groups) {
      collector.collect(g.id, () => new Promise((resolve) => waiting.push(() => resolve(g))), objective);
    }
    const taken = collector.take("u", groups, objective);
    for (const resolve of waiting.reverse()) {
      resolve();
      await new Promise((settled) => setTimeout(settled));
    }
    await taken;
    const whole = batchFor(await engine.info(), groups, objective);
    expect(engine.rows.map((row) => Array.from(row.ids))).toEqual(whole.rows.map((row) => Array.from(row.ids)));
  });

  it("tells of a group whose gradients failed when the step is taken", async () => {
    const objective = objectiveOf(config({}).train, { seed: 1, update: 1, klCoef: 0 });
    const engine = new KeepingEngine();
    engine.accumulate = () => Promise.reject(new Error("row too long"));
    const collector = new UpdateCollector(engine as unknown as Engine);
    const groups = someGroups().slice(0, 1);
    collector.collect("a", async () => groups[0] as GroupRecord, objective);
    await expect(collector.take("u", groups, objective)).rejects.toThrow("row too long");
  });
});

describe("collectsEarly", () => {
  it("is for updates whose groups do not depend on each other", () => {
    expect(collectsEarly(config({}))).toBe(true);
    expect(collectsEarly(config({ advantage: "rloo" }))).toBe(true);
    for (const [train, schedule] of [
      [{}, { mode: "collocated" }],
      [{}, { maxAge: 0 }],
      [{ advantage: "grpo", advantageOptions: { std: "batch" } }, {}],
      [{ advantage: "reinforce_plus_plus" }, {}],
      [{ miniBatches: 2 }, {}],
      [{ epochs: 2 }, {}],
      [{ klCoef: 0.1 }, {}],
      [{ oldLogprobs: "recomputed" }, {}],
    ] as const) {
      expect(collectsEarly(config(train, schedule)), JSON.stringify([train, schedule])).toBe(false);
    }
  });
});
