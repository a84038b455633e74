/** What an update asks of the engine, in which order, and what it reports: one step, several, a critic, several policies. */
import { describe, expect, it } from "vitest";
import { nextKlCoef } from "../../src/experiment/adaptive_kl.ts";
import { parseConfig } from "../../src/experiment/config.ts";
import { objectiveOf } from "../../src/experiment/objective.ts";
import { takeUpdates } from "../../src/experiment/policies.ts";
import { stepMetrics, takeUpdate } from "../../src/experiment/take_update.ts";
import { timeMetrics, timePerToken } from "../../src/experiment/update_times.ts";
import type { Engine, TrainRow, UpdateRequest, UpdateResult } from "../../src/schema/engine.ts";
import type { CriticUpdateRequest, ScoreRowsRequest } from "../../src/schema/row_scores.ts";
import type { TrainConfig } from "../../src/schema/train_config.ts";
import { call, group, pair, rollout } from "../rl/groups.ts";
import { stillClock } from "../runtime/still_clock.ts";

const minimal = { model: { path: "m" }, task: { dataset: "d" }, rollout: { command: ["c"] } };

function configOf(train: Partial<TrainConfig>): TrainConfig {
  return parseConfig({ ...minimal, train }).train;
}

function records(rows: readonly Pick<TrainRow, "src">[]): number {
  return rows.reduce((n, row) => n + row.src.length, 0);
}

/** An engine that writes down what it is asked; every log-probability is -2, every value 0.5. */
function recordingEngine(): {
  engine: Engine;
  asked: string[];
  updates: UpdateRequest[];
  critics: CriticUpdateRequest[];
} {
  const asked: string[] = [];
  const updates: UpdateRequest[] = [];
  const critics: CriticUpdateRequest[] = [];
  let version = 0;
  const engine = {
    info: async () => ({ version, microBatchTokens: 100 }),
    scoreRows: async (request: ScoreRowsRequest) => {
      const { rows, policy, reference, values } = request;
      asked.push(
        `score ${[policy && "policy", reference && "reference", values && "values"].filter(Boolean).join("+")}`,
      );
      const all = (value: number) => new Float32Array(records(rows)).fill(value);
      return {
        ...{ logprobs: policy ? all(-2) : null, entropies: policy ? all(1) : null },
        ...{ refLogprobs: reference ? all(-2.5) : null, values: values ? all(0.5) : null },
        ms: { policy: policy ? 7 : null, reference: reference ? 8 : null, values: values ? 9 : null },
      };
    },
    updateCritic: async (request: CriticUpdateRequest) => {
      asked.push("critic");
      critics.push(request);
      return { skipped: null, loss: 2, gradNorm: 3, clipFrac: 0.25, trainMs: 3 };
    },
    update: async (request: UpdateRequest): Promise<UpdateResult> => {
      asked.push(`update${request.adapter === undefined ? "" : ` ${request.adapter}`}`);
      updates.push(request);
      version++;
      const n = records(request.rows);
      return {
        ...{ version, skipped: n === 0 ? "empty_batch" : null, loss: 1, pgLoss: 0.75, gradNorm: 1, entropy: 1 },
        ...{
          clipFrac: 0,
          dualClipFrac: 0,
          approxKl: 0,
          logprobDiffMax: 0,
          tokens: n,
          computedTokens: n,
          trainMs: 5,
          drainMs: 0,
        },
        logprobs: new Float32Array(n).fill(-2),
        ...(request.loss.klCoef === 0 ? {} : { kl: 0.5, referenceMs: 2 }),
        ...(request.value === undefined ? {} : { value: { loss: 4, clipFrac: 0.5 } }),
      };
    },
  };
  return { engine: engine as unknown as Engine, asked, updates, critics };
}

const place = { seed: 1, update: 1, klCoef: 0 };

describe("an update", () => {
  it("is one optimizer step on the sampler's log-probabilities unless asked otherwise", async () => {
    const { engine, asked, updates } = recordingEngine();
    const taken = await takeUpdate({ engine, clock: stillClock }, "u", [pair()], objectiveOf(configOf({}), place));
    expect(asked).toEqual(["update"]);
    expect(updates[0]?.loss).toMatchObject({ kind: "ppo", clipLow: 0.2, clipHigh: 0.28, klCoef: 0 });
    expect([...taken.logprobs]).toEqual([-2, -2, -2, -2, -2]);
    expect(taken.recorded.rows.flatMap((row) => [...row.oldLogprob])).toEqual(
      taken.batch.rows.flatMap((row) => [...row.oldLogprob]),
    );
  });

  it("scores first, then takes the critic's step and the policy's for each pass and mini-batch", async () => {
    const { engine, asked, updates, critics } = recordingEngine();
    const train = configOf({
      ...{ advantage: "gae", critic: "separate", criticLearningRate: 0.5, valueClip: 0.2, miniBatches: 2, epochs: 2 },
      ...{ klIn: "reward", oldLogprobs: "recomputed" },
    });
    const taken = await takeUpdate(
      { engine, clock: stillClock },
      "u",
      [pair()],
      objectiveOf(train, { ...place, klCoef: 0.1 }),
    );
    expect(asked).toEqual(["score policy+reference+values", ...new Array(4).fill(["critic", "update"]).flat()]);
    expect(critics[0]).toMatchObject({ clipRange: 0.2, optimizer: { learningRate: 0.5 } });
    expect(updates[0]?.loss.klCoef).toBe(0);
    const rows = updates.slice(0, 2).flatMap((u) => u.rows);
    expect(rows.flatMap((row) => [...row.oldLogprob])).toEqual(new Array(5).fill(-2));
    expect(rows.every((row) => row.oldValue?.[0] === 0.5 && row.returns !== undefined)).toBe(true);
    // What was recorded keeps the sampler's log-probabilities, to be compared with the scores.
    expect(new Set(taken.recorded.rows.flatMap((row) => [...row.oldLogprob]))).toEqual(
      new Set([-0.25, -0.5, -0.75, -1]),
    );
    expect(stepMetrics(taken)).toMatchObject({
      ...{ "training/n_optimizer_steps": 4, "critic/vf_loss": 2, "critic/grad_norm": 3, "critic/vf_clipfrac": 0.25 },
      ...{ "actor/loss": 1, "actor/pg_loss": 0.75, "actor/entropy": 1, "actor/entropy_loss": 1 },
    });
    const { times, tokens } = taken;
    expect(times).toEqual({ adv: 0, old_log_prob: 7, ref: 8, values: 9, update_critic: 12, update_actor: 20 });
    // Prompts of one token, answers of four and one.
    expect(tokens).toEqual({ response: 5, total: 7 });
    expect(timeMetrics(times)).toMatchObject({ "timing_s/old_log_prob": 0.007, "timing_s/update_actor": 0.02 });
    expect(timePerToken(10, times, tokens)).toEqual({
      ...{ "timing_per_token_ms/gen": 2, "timing_per_token_ms/ref": 8 / 7, "timing_per_token_ms/values": 9 / 7 },
      ...{ "timing_per_token_ms/adv": 0, "timing_per_token_ms/update_critic": 12 / 7 },
      "timing_per_token_ms/update_actor": 20 / 7,
    });
  });

  it("counts the reference policy that a loss asks apart from the step, and batches as advantages", async () => {
    const { engine } = recordingEngine();
    let ms = 0;
    const clock = { ...stillClock, monotonic: () => ms++ };
    const taken = await takeUpdate(
      { engine, clock },
      "u",
      [pair()],
      objectiveOf(configOf({}), { ...place, klCoef: 1 }),
    );
    expect(taken.times).toEqual({ adv: 2, ref: 2, update_actor: 3 });
    expect(stepMetrics(taken)["actor/kl_loss"]).toBe(0.5);
  });

  it("gives a value head its loss in the policy's steps, and steps of its own while it warms up", async () => {
    const { engine, asked, updates, critics } = recordingEngine();
    const train = configOf({
      ...{ advantage: "gae", critic: "head", criticLearningRate: 0.5, valueClip: 0.2, valueCoef: 0.1, criticWarmup: 1 },
      ...{ valueGradient: "head", oldLogprobs: "recomputed" },
    });
    await takeUpdate({ engine, clock: stillClock }, "u1", [pair()], objectiveOf(train, { ...place, update: 1 }));
    expect(asked).toEqual(["score policy+values", "critic"]);
    expect(critics[0]).toMatchObject({ clipRange: 0.2, optimizer: { learningRate: 0.5 } });
    const taken = await takeUpdate(
      { engine, clock: stillClock },
      "u2",
      [pair()],
      objectiveOf(train, { ...place, update: 2 }),
    );
    expect(asked.slice(2)).toEqual(["score policy+values", "update"]);
    expect(updates[0]?.value).toEqual({ coef: 0.1, clipRange: 0.2, gradient: "head", learningRate: 0.5 });
    expect(updates[0]?.rows.every((row) => row.oldValue?.[0] === 0.5 && row.returns !== undefined)).toBe(true);
    expect(stepMetrics(taken)).toMatchObject({ "critic/vf_loss": 4, "critic/vf_clipfrac": 0.5 });
  });

  it("lets the critic learn alone while it warms up, and takes other losses by name", async () => {
    const { engine, asked, updates } = recordingEngine();
    const train = configOf({
      advantage: "gae",
      critic: "separate",
      criticWarmup: 2,
      loss: "dppo_tv",
      lossOptions: { cap: 5 },
    });
    await takeUpdate({ engine, clock: stillClock }, "u1", [pair()], objectiveOf(train, { ...place, update: 2 }));
    expect(asked).toEqual(["score values", "critic"]);
    await takeUpdate({ engine, clock: stillClock }, "u2", [pair()], objectiveOf(train, { ...place, update: 3 }));
    expect(updates[0]?.loss).toMatchObject({ kind: "dppo_tv", cap: 5 });
  });

  it("trains the policy from the first update on where there is no critic to warm up", async () => {
    const { engine, asked } = recordingEngine();
    const train = configOf({ criticWarmup: 3, criticLearningRate: 0.5, valueClip: 0.1 });
    for (const update of [1, 3, 4]) {
      const objective = objectiveOf(train, { ...place, update });
      const taken = await takeUpdate({ engine, clock: stillClock }, `u${update}`, [pair()], objective);
      expect(taken.steps).toHaveLength(1);
    }
    expect(asked).toEqual(["update", "update", "update"]);
  });

  it("of an empty batch asks nothing of other models", async () => {
    const { engine, asked } = recordingEngine();
    const train = configOf({ correction: "token" });
    const taken = await takeUpdate({ engine, clock: stillClock }, "u", [], objectiveOf(train, place));
    expect(asked).toEqual(["update"]);
    expect(stepMetrics(taken)["training/skipped"]).toBe("empty_batch");
  });
});

describe("several policies", () => {
  const team = group("t", [
    rollout("a", 1, [call([1], [2], { policy: "planner" }), call([5], [6, 7], { policy: "worker" })], {
      agentRewards: { worker: 0 },
    }),
    rollout("b", 0, [call([1], [3], { policy: "planner" }), call([5], [8], { policy: "worker" })], {
      agentRewards: { worker: 1 },
    }),
  ]);

  it("are each trained on the calls they answered, by what they earned, and reported by name", async () => {
    const { engine, asked, updates } = recordingEngine();
    const train = configOf({ advantage: "dr_grpo", loraRank: 4, policies: ["planner", "worker"] });
    const taken = await takeUpdates(
      { engine, clock: stillClock },
      "u",
      [team],
      objectiveOf(train, place),
      train.policies,
    );
    expect(asked).toEqual(["update planner", "update worker"]);
    const spelled = updates.map((u) =>
      u.rows.flatMap((row) => Array.from(row.target, (target, r) => [target, row.advantage[r]])),
    );
    expect(spelled.map((one) => one.sort())).toEqual([
      [
        [2, 0.5],
        [3, -0.5],
      ],
      [
        [6, -0.5],
        [7, -0.5],
        [8, 0.5],
      ],
    ]);
    expect(taken.batch.metrics).toMatchObject({
      ...{ "training/n_tokens": 2, "policy/planner/training/n_tokens": 2, "policy/worker/training/n_tokens": 3 },
      "policy/worker/training/n_calls_excluded": 2,
      // The planner's step made the version 1; the worker's tokens are as fresh as before.
      ...{ "policy/planner/async/age_max": 0, "policy/worker/async/age_max": 0 },
    });
    expect(taken.logprobs).toHaveLength(5);
    // Both policies' steps, of which each line of its own has its share.
    expect(taken.times.update_actor).toBe(10);
    expect(taken.batch.metrics["policy/worker/timing_s/update_actor"]).toBe(0.005);
    expect(taken.tokens).toEqual({ response: 5, total: 9 });
  });

  it("are refused without adapters, twice under one name, or with one critic for all", () => {
    const refusal = (train: Partial<TrainConfig>) => () => configOf(train);
    expect(refusal({ policies: ["a"] })).toThrow("train.policies asks for adapters; train.loraRank is 0.");
    expect(refusal({ policies: ["a", "a"], loraRank: 2 })).toThrow("train.policies names a policy twice: a, a.");
    expect(refusal({ policies: ["a", "b"], loraRank: 2, advantage: "gae", critic: "separate" })).toThrow(
      "one critic cannot judge 2 policies",
    );
    expect(configOf({ policies: ["a", "b"], loraRank: 2, advantage: "gae", critic: "head" }).critic).toBe("head");
  });
});

describe("a configuration's objective", () => {
  it("is refused where only rollouts would bring its fault to light", () => {
    const refusal = (train: Partial<TrainConfig>) => () => configOf(train);
    expect(refusal({ advantage: "gea" })).toThrow('There is no advantage estimator "gea".');
    expect(refusal({ advantage: "gae" })).toThrow(
      "train.advantage is gae, which takes values from a critic; train.critic is none.",
    );
    for (const advantage of ["grpo", "rloo", "dr_grpo", "returns", "process_grpo"]) {
      for (const critic of ["head", "separate"] as const) {
        expect(refusal({ advantage, critic })).toThrow(
          `train.critic is ${critic}; train.advantage is ${advantage}, which takes no values from it.`,
        );
      }
    }
    expect(configOf({ advantage: "gae", critic: "head" }).critic).toBe("head");
    expect(refusal({ advantage: "returns", level: "call" })).toThrow(
      "train.level is call; returns has an advantage for every token.",
    );
    expect(refusal({ loss: "dro", correction: "token" })).toThrow("train.correction is token; dro has a term");
    expect(refusal({ rejections: [{ kind: "token_k9", upper: 2 }] })).toThrow('names the statistic "token_k9"');
    expect(refusal({ correctionBound: "mask", correctionLow: 3 })).toThrow(
      "train.correctionLow is 3, above train.correctionHigh (2).",
    );
    const both = { ...minimal, rollout: { command: ["c"], completion: "x.ts" } };
    expect(() => parseConfig(both)).toThrow("Both rollout.command and rollout.completion are given.");
    expect(() => parseConfig({ ...minimal, rollout: {} })).toThrow(
      "Neither rollout.command nor rollout.completion is given.",
    );
  });

  it("adapts the KL's coefficient to its target, and keeps it where nothing was measured", () => {
    const train = configOf({ klCoef: 0.1, klTarget: 0.1, klHorizon: 100, klIn: "reward" });
    expect(nextKlCoef(train, 0.1, { "actor/reward_kl_penalty": 10 }, 50)).toBeCloseTo(0.1 * (1 + 0.2 * 0.5), 12);
    expect(nextKlCoef(train, 0.1, { "actor/reward_kl_penalty": 0.1 }, 50)).toBe(0.1);
    expect(nextKlCoef(train, 0.1, {}, 50)).toBeUndefined();
    expect(nextKlCoef(configOf({ klCoef: 0.1 }), 0.1, { "actor/kl_loss": 9 }, 50)).toBeUndefined();
  });
});
