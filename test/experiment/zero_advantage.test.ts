/** Leaving tokens of advantage 0 out of the compute changes neither the loss nor a gradient, whatever the objective. */
import { describe, expect, it } from "vitest";
import { nextKlCoef } from "../../src/experiment/adaptive_kl.ts";
import { parseConfig } from "../../src/experiment/config.ts";
import { objectiveOf } from "../../src/experiment/objective.ts";
import { stepMetrics } from "../../src/experiment/take_update.ts";
import type { Batch, GroupRecord } from "../../src/rl/batch/batch_input.ts";
import { prepareBatch } from "../../src/rl/batch/prepare_batch.ts";
import type { LossRow, PolicyLoss } from "../../src/rl/losses/policy_loss.ts";
import { policyLosses } from "../../src/rl/losses/registry.ts";
import type { UpdateResult } from "../../src/schema/engine.ts";
import type { TrainConfig } from "../../src/schema/train_config.ts";
import { call, group, pair, rollout } from "../rl/groups.ts";

const minimal = { model: { path: "m" }, task: { dataset: "d" }, rollout: { command: ["c"] } };

/** The defaults with these settings, also those that a configuration would not need for its loss. */
function trainOf(train: Partial<TrainConfig>): TrainConfig {
  return { ...parseConfig(minimal).train, ...train };
}

/** Beside a group that teaches, one whose rewards are equal. */
const oneDead = (): GroupRecord[] => [
  pair(),
  group("u", [rollout("x", 1, [call([7], [2, 8])]), rollout("y", 1, [call([7], [3])])]),
];

/** Two agents per rollout, of which only one ever earns anything. */
function idleAgent(): GroupRecord[] {
  const member = (id: string, earned: number, prompt: number): ReturnType<typeof rollout> =>
    rollout(
      id,
      earned,
      [call([1, 2], [3, prompt], { agent: "works" }), call([9, prompt], [3, 4, 5], { agent: "idles" })],
      { agentRewards: { works: earned, idles: 0 } },
    );
  return [group("t", [member("a", 1, 5), member("b", 0, 6)]), ...oneDead().slice(1)];
}

interface Placed {
  key: string;
  token: number;
  logprob: number;
  old: number;
  advantage: number;
  weight: number;
}

/** What the present policy says of a token; off the old one by an amount of the token's own. */
function nowOf(old: number, key: string, token: number): number {
  return old + Math.sin(7 * token + 3 * key.length + key.charCodeAt(0)) / 3;
}

/** Records by the sequence whose ratio they share. */
function sequencesOf(batch: Batch): Placed[][] {
  const units = new Map<number, Placed[]>();
  for (const [i, row] of batch.rows.entries()) {
    const origin = batch.origins[i] as Batch["origins"][number];
    for (let r = 0; r < row.src.length; r++) {
      const from = origin.calls[origin.call[r] as number] as Batch["origins"][number]["calls"][number];
      const [unit, token] = [row.unit?.[r] as number, origin.token[r] as number];
      const old = row.oldLogprob[r] as number;
      const placed = { old, token, key: `${from.rollout} ${from.call}`, logprob: nowOf(old, from.rollout, token) };
      const terms = { advantage: row.advantage[r] as number, weight: row.weight[r] as number };
      units.set(unit, [...(units.get(unit) ?? []), { ...placed, ...terms }]);
    }
  }
  return [...units.values()];
}

/** The loss of an update's batch and its derivative by each token's log-probability, those of 0 left out. */
function lossOf(train: TrainConfig, groups: readonly GroupRecord[], computesAll: boolean) {
  const objective = objectiveOf(train, { seed: 1, update: 1, klCoef: train.klCoef });
  const prepared = prepareBatch(groups, { ...objective.batch, ...(computesAll ? { skipZeroAdvantage: false } : {}) });
  const trained = prepared.rows.flatMap((row, i) => {
    const origin = prepared.origins[i] as Batch["origins"][number];
    return [...row.oldLogprob].map((old, r) => {
      const { rollout: id } = origin.calls[origin.call[r] as number] as Batch["origins"][number]["calls"][number];
      return old + Math.cos(5 * (origin.token[r] as number) + id.charCodeAt(0)) / 2;
    });
  });
  const { policy } = prepared.needs;
  const logprobs = policy ? Float32Array.from(trained) : null;
  const batch = prepared.finish({ logprobs, refLogprobs: null, values: null });
  const kind = policyLosses[train.loss] as PolicyLoss<object>;
  const gradient: Record<string, number> = {};
  let loss = 0;
  for (const records of sequencesOf(batch)) {
    const row: LossRow = {
      logprob: records.map((r) => r.logprob),
      oldLogprob: records.map((r) => r.old),
      advantages: records.map((r) => r.advantage),
      mask: records.map((r) => (r.weight === 0 ? 0 : 1)),
    };
    // A range wide enough that no clip hides a ratio.
    const found = kind.tokens(row, { ...kind.defaults, ...(train.loss === "gspo" ? { clipLow: 9, clipHigh: 9 } : {}) });
    for (const [t, { key, token, weight }] of records.entries()) {
      loss += weight * (found.loss[t] as number);
      const slope = weight * (found.grad[t] as number);
      if (slope !== 0) gradient[`${key} ${token}`] = slope;
    }
  }
  return { loss, gradient, computed: batch.metrics["training/n_tokens_computed"] as number };
}

function expectSame(train: TrainConfig, groups: readonly GroupRecord[], what: string): { saved: number } {
  const [left, all] = [lossOf(train, groups, false), lossOf(train, groups, true)];
  expect(left.loss, what).toBeCloseTo(all.loss, 6);
  expect(Object.keys(left.gradient).sort(), what).toEqual(Object.keys(all.gradient).sort());
  for (const [key, slope] of Object.entries(all.gradient)) {
    expect(left.gradient[key], `${what}: ${key}`).toBeCloseTo(slope, 6);
  }
  return { saved: all.computed - left.computed };
}

const losses = Object.keys(policyLosses) as (keyof typeof policyLosses)[];
const views = ["trie", "transition"] as const;

describe("tokens of advantage 0", () => {
  it("add the same to every loss left out as computed: that of a dead group, or of an agent that earns nothing", () => {
    for (const [name, groups] of [
      ["dead group", oneDead()],
      ["idle agent", idleAgent()],
    ] as const) {
      for (const loss of losses) {
        for (const ratioOf of ["row", "rollout"] as const) {
          for (const view of views) {
            const train = trainOf({ loss, ratioOf, view, level: name === "idle agent" ? "agent" : "rollout" });
            const { saved } = expectSame(train, groups, `${name}, ${loss}, ratio of the ${ratioOf}, ${view}`);
            // What can be left out is: the dead group, and an idle agent's rows unless its rollout shares their ratio.
            expect(saved > 0, `${name} ${loss}`).toBe(loss !== "dro");
          }
        }
      }
    }
  });

  it("of a rollout whose ratio is one are left out only with the whole rollout", () => {
    const saved = (ratioOf: "row" | "rollout"): number =>
      expectSame(trainOf({ loss: "gspo", ratioOf, view: "transition", level: "agent" }), idleAgent(), ratioOf).saved;
    // The dead group's five tokens; by rows the idle agent's ten too.
    expect([saved("rollout"), saved("row")]).toEqual([5, 15]);
  });

  it("count in the mean weight that a correction divides by, and in nothing of one that does not", () => {
    for (const correction of ["token", "sequence", "geometric"] as const) {
      for (const correctionNormalise of [false, true]) {
        const train = trainOf({ correction, correctionNormalise, correctionHigh: 5 });
        const { saved } = expectSame(train, oneDead(), `${correction} ${correctionNormalise}`);
        expect(saved > 0).toBe(!correctionNormalise);
      }
    }
  });

  it("are computed where a KL, which a resumed run may have kept, an entropy bonus or a critic reads them", () => {
    const skips = (train: Partial<TrainConfig>, klCoef = 0): unknown =>
      objectiveOf(trainOf(train), { seed: 1, update: 1, klCoef }).batch.skipZeroAdvantage;
    expect(skips({})).toBe(true);
    expect(skips({ klIn: "reward" }, 0.1)).toBe(true);
    expect(skips({ klIn: "loss" }, 0.1)).toBe(false);
    expect(skips({ entropyCoef: 0.01 })).toBe(false);
    expect(skips({ critic: "head", advantage: "gae" })).toBe(false);
  });
});

describe("an update", () => {
  it("has no mean over tokens where no token was trained, and of its other steps alone where some had none", () => {
    const step = { skipped: null, entropy: 2, clipFrac: 0.5, dualClipFrac: 0.25, approxKl: 1, kl: 3 };
    const nothing = { skipped: "empty_batch", entropy: 0, clipFrac: 0, dualClipFrac: 0, approxKl: 0, kl: 0 };
    const metrics = (...steps: object[]) => stepMetrics({ steps: steps as UpdateResult[], criticSteps: [] });
    const names = ["entropy", "entropy_loss", "pg_clipfrac", "pg_clipfrac_lower", "ppo_kl", "kl_loss"];
    const means = (line: Record<string, unknown>) => names.map((name) => line[`actor/${name}`]);
    expect(means(metrics(nothing, nothing))).toEqual([null, null, null, null, null, null]);
    expect(means(metrics(step, nothing))).toEqual([2, 2, 0.5, 0.25, 1, 3]);
    // A KL that was not measured moves no coefficient.
    expect(nextKlCoef(trainOf({ klTarget: 0.1 }), 0.1, metrics(nothing), 50)).toBeUndefined();
  });
});
