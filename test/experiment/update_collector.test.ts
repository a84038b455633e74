// Plan: an update collected group by group is the whole batch's, for every normalisation and whatever other models have to
// say of each group: weights after the step's factor, numbers, and order of rows. What makes a configuration unfit for it
// is told of when a run starts.
import { describe, expect, it } from "vitest";
import { parseConfig } from "../../src/experiment/config.ts";
import { reasonsToWait } from "../../src/experiment/early_collection.ts";
import { objectiveOf } from "../../src/experiment/objective.ts";
import { runNotes } from "../../src/experiment/run_notes.ts";
import { takeUpdate } from "../../src/experiment/take_update.ts";
import { UpdateCollector } from "../../src/experiment/update_collector.ts";
import { preparedFor } from "../../src/experiment/update_step.ts";
import type { GroupRecord } from "../../src/rl/batch/batch_input.ts";
import { normalisations } from "../../src/rl/normalisation.ts";
import type { AccumulateRequest, Engine, EngineInfo, TrainRow, UpdateRequest } from "../../src/schema/engine.ts";
import type { ScoreRowsRequest, ScoreRowsResult } from "../../src/schema/row_scores.ts";
import { call, group, rollout } from "../rl/groups.ts";
import { stillClock } from "../runtime/still_clock.ts";

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

const none = { logprobs: null, refLogprobs: null, values: null };

/** An engine that keeps what it is asked; its policy has drifted from the sampler, its reference from its policy. */
class KeepingEngine {
  readonly rows: TrainRow[] = [];
  readonly scored: number[] = [];
  update_: UpdateRequest | null = null;
  info = async () => ({ version: 3, microBatchTokens: 1000 }) as EngineInfo;

  scoreRows = async ({ rows, policy, reference }: ScoreRowsRequest): Promise<ScoreRowsResult> => {
    this.scored.push(rows.length);
    const of = (logprob: (old: number, id: number) => number): Float32Array =>
      Float32Array.from(
        rows.flatMap((row) => Array.from(row.target, (id, r) => logprob(row.oldLogprob[r] as number, id))),
      );
    const drifted = (old: number, id: number): number => old + 0.4 * (id - 4);
    return {
      ...{ logprobs: policy ? of(drifted) : null, entropies: null, values: null },
      refLogprobs: reference ? of((old, id) => drifted(old, id) - 0.1 * id) : null,
      ms: { policy: policy ? 5 : null, reference: reference ? 7 : null, values: null },
    };
  };

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

const hostOf = (engine: KeepingEngine) => ({ engine: engine as unknown as Engine, clock: stillClock });

/** A row as it is trained, weights times `scale`, rounded to what f32 holds of their product; in a fixed order. */
function spelled(rows: readonly TrainRow[], scale: number) {
  return rows
    .map(({ ids, target, weight, advantage, oldLogprob }) => ({
      ...{ ids: [...ids], target: [...target], advantage: [...advantage], oldLogprob: [...oldLogprob] },
      weight: Array.from(weight, (w) => Number((w * scale).toPrecision(5))),
    }))
    .sort((a, b) => JSON.stringify(a.ids).localeCompare(JSON.stringify(b.ids)));
}

const withoutWeight = ({ weight: _, ...row }: ReturnType<typeof spelled>[number]) => row;

describe("UpdateCollector", () => {
  for (const normalisation of normalisations) {
    it(`takes the whole batch's update, normalised as ${normalisation}`, async () => {
      const length = normalisation === "seq-mean-token-sum-norm" ? { normalisationLength: 7 } : {};
      const { train } = config({ normalisation, ...length, entropyCoef: 0.01 });
      const objective = objectiveOf(train, { seed: 1, update: 1, klCoef: 0 });
      const groups = someGroups();
      const kept = new KeepingEngine();
      const engine = kept as unknown as Engine;
      const whole = preparedFor(await kept.info(), groups, objective).finish(none);
      const collector = new UpdateCollector({ engine, clock: stillClock });
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

  for (const [name, train] of [
    ["TIS", { correction: "token" }],
    ["TIS by sequence", { correction: "sequence", correctionHigh: 5 }],
    ["IcePop", { correction: "token", correctionBound: "mask" }],
    ["rejection", { rejections: [{ kind: "seq_mean_k2", upper: 0.3 }] }],
    ["OPSM", { opsmDelta: 0.2 }],
    ["recomputed log-probabilities", { oldLogprobs: "recomputed", loss: "gspo" }],
    ["a KL in the rewards", { klCoef: 0.2, klIn: "reward", advantage: "rloo" }],
    ["a critic's warm-up without a critic", { criticWarmup: 2 }],
    ["a KL in the loss", { klCoef: 0.2, normalisation: "token-mean" }],
  ] as const) {
    it(`takes the update that a late one would be, with ${name}`, async () => {
      const whole = config(train);
      expect(reasonsToWait(whole)).toEqual([]);
      const objective = objectiveOf(whole.train, { seed: 1, update: 1, klCoef: whole.train.klCoef });
      const groups = someGroups();
      const late = new KeepingEngine();
      const expected = await takeUpdate(hostOf(late), "u", groups, objective);
      const early = new KeepingEngine();
      const collector = new UpdateCollector(hostOf(early));
      // In the order of their starts, which is not that of their names.
      const started = [2, 0, 1].map((i) => groups[i] as GroupRecord);
      for (const g of started) collector.collect(g.id, async () => g, objective);
      const taken = await collector.take("u", started, objective);
      const scale = early.update_?.gradientScale ?? Number.NaN;
      expect(spelled(early.rows, scale)).toEqual(spelled(late.update_?.rows ?? [], 1));
      expect(early.update_?.loss).toEqual(late.update_?.loss);
      expect(taken.batch.metrics).toEqual(expected.batch.metrics);
      expect(taken.batch.rollouts).toEqual(expected.batch.rollouts);
      expect(spelled(taken.recorded.rows, 1).map(withoutWeight)).toEqual(
        spelled(expected.recorded.rows, 1).map(withoutWeight),
      );
      const sum = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0);
      expect(sum(early.scored)).toBe(sum(late.scored));
      expect(early.scored.every((rows) => rows > 0)).toBe(true);
      expect(taken.times.old_log_prob ?? 0).toBe(5 * early.scored.length);
    });
  }

  it("adds groups in the order they were collected in, however long each takes to read", async () => {
    const objective = objectiveOf(config({}).train, { seed: 1, update: 1, klCoef: 0 });
    const engine = new KeepingEngine();
    const collector = new UpdateCollector({ engine: engine as unknown as Engine, clock: stillClock });
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
    const whole = preparedFor(await engine.info(), groups, objective).finish(none);
    expect(engine.rows.map((row) => Array.from(row.ids))).toEqual(whole.rows.map((row) => Array.from(row.ids)));
  });

  it("tells of a group whose gradients failed when the step is taken", async () => {
    const objective = objectiveOf(config({}).train, { seed: 1, update: 1, klCoef: 0 });
    const engine = new KeepingEngine();
    engine.accumulate = () => Promise.reject(new Error("row too long"));
    const collector = new UpdateCollector({ engine: engine as unknown as Engine, clock: stillClock });
    const groups = someGroups().slice(0, 1);
    collector.collect("a", async () => groups[0] as GroupRecord, objective);
    await expect(collector.take("u", groups, objective)).rejects.toThrow("row too long");
  });
});

describe("the gradients of a finished group", () => {
  it("wait for other groups only where these matter to them", () => {
    for (const train of [{}, { advantage: "rloo" }, { advantage: "dr_grpo", correction: "token" }, { klCoef: 0.1 }]) {
      expect(reasonsToWait(config(train))).toEqual([]);
      expect(runNotes(config(train))).toEqual([]);
    }
  });

  it("wait where something couples the groups, which a run says as it starts", () => {
    const lora = { loraRank: 4, policies: ["a", "b"] };
    for (const [train, schedule, reason] of [
      [{}, { maxAge: 0 }, "schedule.maxAge is 0, so that an update equals sync mode's bit by bit"],
      [{ advantageOptions: { std: "batch" } }, {}, "train.advantage is grpo with std batch, which compares all groups"],
      [{ advantage: "gpg" }, {}, "train.advantage is gpg, which compares all groups of an update"],
      [{ advantage: "reinforce_plus_plus" }, {}, "train.advantage is reinforce_plus_plus, which"],
      [{ advantage: "returns" }, {}, "train.advantage is returns, which compares all groups of an update"],
      [{ miniBatches: 2 }, {}, "train.miniBatches is 2, over which the groups are dealt out"],
      [{ epochs: 3 }, {}, "train.epochs is 3, and a pass needs the weights of the one before"],
      [{ advantage: "gae", critic: "head" }, {}, "train.critic is head, which learns from all groups first"],
      [{ correction: "token", correctionNormalise: true }, {}, "divides by the mean weight of all groups"],
      [lora, {}, "train.policies names 2, each with an update of its own"],
    ] as const) {
      const whole = config(train, schedule);
      expect(reasonsToWait(whole).join("; ")).toContain(reason);
      expect(runNotes(whole)).toEqual([
        `Interleaved, but gradients are not computed in the gaps of decoding: ${reasonsToWait(whole).join("; ")}.`,
      ]);
    }
    expect(reasonsToWait(config({ miniBatches: 2, epochs: 2 }))).toHaveLength(2);
  });

  it("wait in the other modes, of which nobody expects anything else", () => {
    const collocated = config({ epochs: 2 }, { mode: "collocated" });
    expect(reasonsToWait(collocated)).toEqual(["schedule.mode is collocated"]);
    expect(runNotes(collocated)).toEqual([]);
  });
});
