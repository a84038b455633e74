/** Batches whose advantages belong to tokens, calls and agents: rewards in their places, returns, credit, KL in reward. */
import { describe, expect, it } from "vitest";
import { estimateTokenAdvantages } from "../../src/rl/advantages/token_registry.ts";
import type { Batch, GroupRecord } from "../../src/rl/batch/batch_input.ts";
import { buildBatch } from "../../src/rl/batch/build_batch.ts";
import { prepareBatch } from "../../src/rl/batch/prepare_batch.ts";
import { call, group, pair, rollout, thrown } from "./groups.ts";

const none = { logprobs: null, refLogprobs: null, values: null };

/** One number per record by call id, tokens in order. */
function byCall({ rows, origins }: Batch, field: "advantage" | "returns" | "oldValue"): Record<string, number[]> {
  const out: Record<string, number[]> = {};
  for (const [i, row] of rows.entries()) {
    const origin = origins[i];
    for (let r = 0; r < row.src.length; r++) {
      const id = origin?.calls[origin.call[r] as number]?.call ?? "";
      const values = out[id] ?? [];
      values[origin?.token[r] as number] = row[field]?.[r] as number;
      out[id] = values;
    }
  }
  return out;
}

function records(groups: readonly GroupRecord[]): number {
  return groups.flatMap((g) => g.rollouts.flatMap((r) => r.calls)).reduce((n, c) => n + c.replyIds.length, 0);
}

const gae = { estimator: "gae", whiten: 0 } as const;

describe("token rewards", () => {
  it("stand at their tokens; a call's own reward comes with its last, a rollout's with the last of its sequence", () => {
    const groups = [
      group("t", [
        rollout("tokens", 9, [call([1], [2, 3, 4], { id: "x", tokenRewards: [1, 0, 2] })]),
        rollout("calls", 9, [call([1], [5, 6], { id: "y", reward: 4 }), call([1, 5, 6, 9], [7], { id: "z" })]),
        rollout("scalar", 3, [call([1], [8, 8], { id: "w" })]),
      ]),
    ];
    const batch = buildBatch(groups, { advantage: { estimator: "returns", whiten: 0 } });
    expect(byCall(batch, "advantage")).toEqual({ x: [3, 2, 2], y: [4, 4], z: [0], w: [3, 3] });
  });

  it("whitened over the batch, they have mean 0 and deviation 1", () => {
    const { rows, metrics } = buildBatch([pair()], { advantage: { estimator: "returns" }, skipZeroAdvantage: false });
    const all = rows.flatMap((row) => [...row.advantage]);
    expect(all.reduce((a, b) => a + b, 0)).toBeCloseTo(0, 5);
    expect(Math.sqrt(all.reduce((s, a) => s + a * a, 0) / (all.length - 1))).toBeCloseTo(1, 5);
    expect(metrics["critic/rewards/mean"]).toBe(0.5);
  });

  it("GAE is delta by delta over the tokens of a sequence, with returns for the critic, wherever rows lie", () => {
    const groups = [
      group("t", [
        rollout("a", 0, [call([1, 2], [3, 4], { id: "x", tokenRewards: [0, 1] })]),
        rollout("b", 0, [call([1, 2], [3, 5], { id: "y", tokenRewards: [0.5, 0] })]),
      ]),
    ];
    for (const maxRowTokens of [3, 100]) {
      const prepared = prepareBatch(groups, { advantage: { ...gae, gamma: 0.5, lambda: 0.5 }, maxRowTokens });
      expect(prepared.needs).toEqual({ policy: false, reference: false, values: true });
      const values = Float32Array.from({ length: records(groups) }, () => 0.25);
      const batch = prepared.finish({ ...none, values });
      // A_1 = r_1 - V; A_0 = r_0 + gamma V - V + gamma lambda A_1.
      expect(byCall(batch, "advantage")).toEqual({ x: [-0.125 + 0.25 * 0.75, 0.75], y: [0.375 - 0.25 * 0.25, -0.25] });
      expect(byCall(batch, "returns")).toEqual({ x: [0.3125, 1], y: [0.5625, 0] });
      expect(byCall(batch, "oldValue")).toEqual({ x: [0.25, 0.25], y: [0.25, 0.25] });
      expect(batch.metrics["critic/values/mean"]).toBe(0.25);
    }
  });

  it("GAE without values, and options that are none, are refused", () => {
    expect(thrown(() => buildBatch([pair()], { advantage: gae })).code).toBe("missing_scores");
    const sequences = [{ group: "g", rewards: Float64Array.of(1), values: null }];
    expect(thrown(() => estimateTokenAdvantages(sequences, gae)).code).toBe("missing_values");
    const odd = { estimator: "gae", gama: 1 } as never;
    expect(thrown(() => estimateTokenAdvantages([], odd)).message).toBe(
      'The advantage estimator "gae" has no option "gama".',
    );
  });

  it("process GRPO compares tokens at one position and divides by the deviation of the totals", () => {
    const sequence = (rewards: number[], name = "g") => ({
      group: name,
      rewards: Float64Array.from(rewards),
      values: null,
    });
    const { advantages } = estimateTokenAdvantages(
      [sequence([0, 1, 1]), sequence([0]), sequence([1, 1], "same"), sequence([2], "same")],
      { estimator: "process_grpo", eps: 0 },
    );
    const deviation = Math.SQRT2;
    expect(advantages.map((row) => [...row])).toEqual([[1 / deviation, 0, 0], [-1 / deviation], [0, 0], [0]]);
  });

  it("the KL to the reference comes off every token, or off a rollout's scalar reward", () => {
    const n = records([pair()]);
    const scores = { ...none, logprobs: new Float32Array(n).fill(-1), refLogprobs: new Float32Array(n).fill(-1.5) };
    const dense = prepareBatch([pair()], { advantage: { estimator: "returns", whiten: 0 }, klInReward: 0.1 });
    expect(dense.needs).toEqual({ policy: true, reference: true, values: false });
    const advantages = dense.finish(scores).rows.flatMap((row) => [...row.advantage]);
    expect(advantages.map((a) => Math.round(1000 * a) / 1000).sort()).toEqual([-0.05, -0.1, -0.15, -0.2, 0.95]);
    const scalar = prepareBatch([pair()], { advantage: { estimator: "dr_grpo" }, klInReward: 0.1 }).finish(scores);
    // Rewards 0 - 4 * 0.05 and 1 - 0.05: half their difference.
    expect(scalar.rollouts.map((r) => Number(r.advantage.toFixed(6)))).toEqual([-0.575, 0.575]);
    expect(scalar.metrics["actor/reward_kl_penalty"]).toBeCloseTo(0.5, 6);
  });
});

describe("the KL in the reward", () => {
  /** Log-probability minus the reference's, by target. */
  const drift: Record<number, number> = { 2: 0.5, 4: 1, 5: -0.25, 6: 2, 8: 0.75 };

  function finished(g: GroupRecord, options: Parameters<typeof prepareBatch>[1]): Batch {
    const prepared = prepareBatch([g], { advantage: { estimator: "grpo", std: "none" }, klInReward: 0.1, ...options });
    const targets = prepared.rows.flatMap((row) => [...row.target]);
    const refLogprobs = Float32Array.from(targets, (id) => -1 - (drift[id] as number));
    return prepared.finish({ ...none, logprobs: new Float32Array(targets.length).fill(-1), refLogprobs });
  }

  /** Differences to the first call's advantage are those of the credits: the baseline is common. */
  function credits(batch: Batch, base: string, credit: number): Record<string, number> {
    const found = byCall(batch, "advantage");
    const shift = credit - (found[base]?.[0] as number);
    return Object.fromEntries(
      Object.entries(found).map(([id, [a]]) => [id, Number(((a as number) + shift).toFixed(5))]),
    );
  }

  const tree = (rewards: { left?: number }): GroupRecord =>
    group("t", [
      rollout("a", 1, [
        call([1], [2], { id: "root" }),
        call([1, 2, 3], [4], { id: "left", ...(rewards.left === undefined ? {} : { reward: rewards.left }) }),
        call([1, 2, 9], [5], { id: "right" }),
      ]),
      rollout("b", 0, [call([1], [6], { id: "other" })]),
    ]);

  it("is paid by the call that drew the tokens and those it continues, beside what calls earned", () => {
    const batch = finished(tree({ left: 1 }), { level: "call", callDiscount: 0.5 });
    // Own: root -0.05, left 1 - 0.1, right 0.025; the root adds half of both branches; b's call has its rollout's 0 - 0.2.
    const expected = { root: -0.05 + 0.5 * (0.9 + 0.025), left: 0.9, right: 0.025, other: -0.2 };
    expect(credits(batch, "other", -0.2)).toEqual({ ...expected, root: 0.4125 });
  });

  it("is paid so too where no call earned anything and each has its rollout's reward", () => {
    const batch = finished(tree({}), { level: "call", callDiscount: 0.5 });
    expect(credits(batch, "other", -0.2)).toEqual({ root: 0.9125, left: 0.9, right: 1.025, other: -0.2 });
  });

  it("is paid by each agent for its own tokens, with rewards of its own or without", () => {
    const made = (id: string, agentRewards: Record<string, number>, planner: number, worker: number) =>
      rollout(
        ...([id, 1] as const),
        [call([1], [planner], { id: `${id}p`, agent: "p" }), call([7], [worker], { id: `${id}w`, agent: "w" })],
        { agentRewards },
      );
    const g = group("t", [made("a", { w: 0.5 }, 2, 4), made("b", { w: 0 }, 6, 8)]);
    const found = byCall(finished(g, { level: "agent", advantage: { estimator: "dr_grpo" } }), "advantage");
    // Planners 1 - 0.05 and 1 - 0.2, workers 0.5 - 0.1 and 0 - 0.075: half the differences.
    const expected = { ap: 0.075, bp: -0.075, aw: 0.2375, bw: -0.2375 };
    for (const [id, value] of Object.entries(expected)) expect(found[id]?.[0]).toBeCloseTo(value, 6);
  });

  it("is paid by a row for its own tokens, by a rollout for all of them", () => {
    const g = group("t", [
      rollout("a", 1, [call([1], [2], { id: "x" }), call([7], [4], { id: "y" })]),
      rollout("b", 0, [call([1], [6], { id: "z" })]),
    ]);
    const rows = credits(finished(g, { level: "row" }), "z", -0.2);
    expect(rows).toEqual({ x: 0.95, y: 0.9, z: -0.2 });
    const rollouts = credits(finished(g, { level: "rollout" }), "z", -0.2);
    expect(rollouts).toEqual({ x: 0.85, y: 0.85, z: -0.2 });
  });
});

describe("credit", () => {
  it("flows from a call to those it continues, never to a parallel branch (AReaL 1666)", () => {
    const calls = [
      call([1], [2], { id: "root" }),
      call([1, 2, 3], [4], { id: "left", reward: 1 }),
      call([1, 2, 9], [5], { id: "right" }),
      call([7], [8], { id: "sub" }),
    ];
    const g = group("t", [rollout("a", 1, calls), rollout("b", 0, [call([1], [6], { id: "other", reward: 0 })])]);
    const options = { level: "call", callDiscount: 0.5, advantage: { estimator: "grpo", std: "none" } } as const;
    const found = byCall(buildBatch([g], { ...options, skipZeroAdvantage: false }), "advantage");
    // Returns 0.5, 1, 0, 0, 0 over five calls: mean 0.3.
    for (const [id, value] of Object.entries({ root: 0.2, left: 0.7, right: -0.3, sub: -0.3, other: -0.3 })) {
      expect(found[id]?.[0]).toBeCloseTo(value, 6);
    }
  });

  it("compares each agent with itself over the group, with rewards of its own where it has some", () => {
    const made = (id: string, reward: number, agentRewards: Record<string, number>) =>
      rollout(
        id,
        reward,
        [call([1], [2], { id: `${id}p`, agent: "planner" }), call([5], [6], { id: `${id}w`, agent: "worker" })],
        {
          agentRewards,
        },
      );
    const g = group("t", [made("a", 1, { worker: 0 }), made("b", 0, { worker: 0.5 })]);
    const batch = buildBatch([g], { level: "agent", advantage: { estimator: "dr_grpo" } });
    expect(byCall(batch, "advantage")).toEqual({ ap: [0.5], aw: [-0.25], bp: [-0.5], bw: [0.25] });
  });
});

describe("mini-batches", () => {
  const many = Array.from({ length: 6 }, (_, i) =>
    group(`g${i}`, [rollout(`a${i}`, 1, [call([i + 1], [2])]), rollout(`b${i}`, 0, [call([i + 1], [3, 4])])]),
  );

  it("hold every record once, whole groups where asked, the same for a seed and another for the next", () => {
    const build = (seed: number) => buildBatch(many, { miniBatches: 3, miniBatchBy: "group", seed });
    const { rows, steps, origins } = build(1);
    expect(rows.reduce((n, row) => n + row.src.length, 0)).toBe(18);
    const groupsOf = ({ from, to }: { from: number; to: number }) =>
      new Set(origins.slice(from, to).map((o) => o.group));
    expect(steps.map((step) => groupsOf(step).size)).toEqual([2, 2, 2]);
    expect(build(1)).toEqual(build(1));
    expect(build(1).rows).not.toEqual(build(2).rows);
  });

  it("do not depend on the order groups and rollouts arrived in", () => {
    const arrived = [...many].reverse().map((g) => ({ ...g, rollouts: [...g.rollouts].reverse() }));
    for (const miniBatchBy of ["rollout", "group"] as const) {
      const options = { miniBatches: 4, miniBatchBy, seed: 7 };
      expect(buildBatch(arrived, options)).toEqual(buildBatch(many, options));
    }
  });
});
