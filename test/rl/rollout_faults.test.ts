/**
 * Faults of making rows out of calls that other trainers shipped, each named after its report: rollouts of several
 * versions, lost rewards, dropped answers, interleaved agents, what mini-batches leave out.
 */
import { describe, expect, it } from "vitest";
import { buildBatch } from "../../src/rl/batch/build_batch.ts";
import { prepareBatch } from "../../src/rl/batch/prepare_batch.ts";
import { call, group, pair, rollout } from "./groups.ts";
import { spellRecords } from "./row_reading.ts";

const none = { logprobs: null, refLogprobs: null, values: null };
const truncated = { level: "token", bound: "truncate", low: 0, high: 2, batchNormalise: false } as const;

/** Six calls of two chats that take turns: each goes on from its own, the replies are 10 to 15. */
function interleaved(): number[][] {
  const prompts: number[][] = [];
  const chats = [[1], [2]];
  for (let turn = 0; turn < 6; turn++) {
    const chat = chats[turn % 2] as number[];
    prompts.push([...chat]);
    chat.push(10 + turn, 30 + turn);
  }
  return prompts;
}

describe("rollouts under changing weights", () => {
  it("a reply half drawn by older weights is trained whole, each token under its own weight (slime 1445)", () => {
    const partial = call([1], [2, 3, 4], { versions: [5, 6, 7] });
    const g = group("t", [rollout("a", 1, [partial]), rollout("b", 0, [call([1], [8])])]);
    const prepared = prepareBatch([g], { oldLogprobs: "recomputed", correction: truncated, version: 7 });
    const sampler = prepared.rows.flatMap((row) => [...row.oldLogprob]);
    // The trainer's weights think otherwise of the two tokens that older weights drew.
    const drift = new Map([
      [2, Math.log(0.5)],
      [3, Math.log(0.25)],
    ]);
    const targets = prepared.rows.flatMap((row) => [...row.target]);
    const logprobs = Float32Array.from(sampler, (l, i) => l + (drift.get(targets[i] as number) ?? 0));
    const { rows } = prepared.finish({ ...none, logprobs });
    const plain = buildBatch([g]).rows.flatMap((row) => [...row.advantage]);
    const weights = rows.flatMap((row) => [...row.advantage]).map((a, i) => a / (plain[i] as number));
    expect(targets.map((target, i) => [target, Math.round(1e4 * (weights[i] as number)) / 1e4])).toEqual(
      expect.arrayContaining([
        [2, 0.5],
        [3, 0.25],
        [4, 1],
        [8, 1],
      ]),
    );
    expect(targets).toHaveLength(4);
  });
});

describe("rewards", () => {
  it("reach every sampled token though a row is cut inside an observation (Agent Lightning's score on a masked token)", () => {
    // The row 1 | 2 3 | 9 9 9 | 4 is cut after its first observation token, where no policy drew anything.
    const cut = [call([1], [2, 3], { id: "x" }), call([1, 2, 3, 9, 9, 9], [4], { id: "y" })];
    const limits = { maxPromptLength: 100, maxResponseLength: 3 };
    for (const estimator of ["returns", "reinforce_plus_plus"] as const) {
      const g = group("t", [rollout("a", 1, cut), rollout("b", 0, [call([1], [7])])]);
      const options = { view: "trajectory", limits, skipZeroAdvantage: false } as const;
      const { rows } = buildBatch([g], { ...options, advantage: { estimator } });
      const [first] = rows;
      expect([...(first?.target ?? [])]).toEqual([2, 3]);
      expect(Math.min(...(first?.advantage ?? []))).toBeGreaterThan(Math.max(...(rows[1]?.advantage ?? [])));
    }
  });
});

describe("calls", () => {
  it("none hides another: best-of-n and an empty retry of one prompt (Agent Lightning's events view)", () => {
    const same = [call([1], [2]), call([1], [3]), call([1], [])];
    const g = group("t", [rollout("a", 1, same), rollout("b", 0, [call([1], [4])])]);
    const { rows, metrics } = buildBatch([g]);
    expect(spellRecords(rows).map(({ target }) => target)).toEqual(expect.arrayContaining([2, 3, 4]));
    expect(metrics).toMatchObject({ "training/n_calls": 3, "training/n_calls_empty": 1 });
  });

  it("of two chats that take turns are two rows by longest prefix, in any order (SkyRL 1277, Agent Lightning's last row)", () => {
    const calls = interleaved().map((prompt, turn) => call(prompt, [10 + turn]));
    const g = (order: readonly number[]) =>
      group("t", [
        rollout(
          "a",
          1,
          order.map((i) => calls[i] as (typeof calls)[number]),
        ),
        rollout("b", 0, [call([5], [6])]),
      ]);
    for (const order of [
      [0, 1, 2, 3, 4, 5],
      [1, 0, 3, 2, 5, 4],
    ]) {
      for (const view of ["trie", "rows_best_prefix"] as const) {
        const { rollouts } = buildBatch([g(order)], { view });
        expect([view, rollouts.find((r) => r.id === "a")?.rows]).toEqual([view, 2]);
      }
    }
    // The released rule, for comparison: a row can only go on from the call before.
    const last = buildBatch([g([0, 1, 2, 3, 4, 5])], { view: "trajectory" });
    expect(last.rollouts.find((r) => r.id === "a")?.rows).toBe(6);
  });
});

describe("mini-batches", () => {
  it("drop no row to come out even, and split no rollout (Agent Lightning's alignment)", () => {
    for (const miniBatches of [2, 3, 4]) {
      const long = rollout(
        "long",
        1,
        [10, 20, 30].map((id) => call([id], [id + 1, id + 2])),
      );
      const g = group("t", [long, ...pair().rollouts]);
      const { rows, steps, rollouts, origins } = buildBatch([g], { miniBatches, skipZeroAdvantage: false });
      expect(rows.reduce((n, row) => n + row.src.length, 0)).toBe(11);
      expect(rollouts.reduce((n, r) => n + r.tokens, 0)).toBe(11);
      const stepOf = (at: number) => steps.findIndex(({ from, to }) => at >= from && at < to);
      const own = origins.flatMap(({ calls }, at) => (calls.some((c) => c.rollout === "long") ? [stepOf(at)] : []));
      expect(new Set(own).size).toBe(1);
    }
  });
});
