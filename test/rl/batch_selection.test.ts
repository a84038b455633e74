import { describe, expect, it } from "vitest";
import type { GroupRecord } from "../../src/rl/batch/batch_input.ts";
import { buildBatch } from "../../src/rl/batch/build_batch.ts";
import { linearViewNames } from "../../src/rl/views/linear_views.ts";
import { call, group, pair, rollout, thrown } from "./groups.ts";
import { spellRecords } from "./row_reading.ts";

describe("what is left out is counted", () => {
  it("calls: abandoned attempts, side calls, empty answers, missing log-probabilities", () => {
    const mixed = group("t", [
      rollout("a", 1, [
        call([1], [2]),
        call([1], [3], { attempt: "1" }),
        call([1], [4], { excluded: "side call" }),
        call([1], []),
        call([], [5]),
        call([1], [6], { logprobs: null }),
        call([1], [7, 7], { logprobs: [-1] }),
        call([1], [8], { logprobs: [Number.NEGATIVE_INFINITY] }),
      ]),
      rollout("b", 0, [call([1], [9], { constrained: true })]),
    ]);
    const { rows, metrics } = buildBatch([mixed]);
    expect(spellRecords(rows).map((r) => r.target)).toEqual([2, 9]);
    expect(metrics).toMatchObject({
      "training/n_calls": 2,
      "training/n_calls_abandoned": 1,
      "training/n_calls_excluded": 1,
      "training/n_calls_empty": 1,
      "training/n_calls_without_prompt": 1,
      "training/n_calls_without_logprobs": 3,
      "training/n_tokens_constrained": 1,
    });
  });

  const unrewarded = (): GroupRecord =>
    group("t", [
      rollout("a", 1, [call([1], [2])]),
      rollout("b", null, [call([1], [3])]),
      rollout("c", Number.NaN, [call([1], [4])]),
    ]);

  it("missing rewards are filled, left out, or an error", () => {
    const filled = buildBatch([unrewarded()], { rewardFill: -1 });
    expect(filled.rollouts.map((r) => r.reward)).toEqual([1, -1, -1]);
    expect(filled.metrics).toMatchObject({ "training/n_rollouts_w_reward": 1, "training/n_rollouts_excluded": 0 });
    expect(filled.metrics["training/reward"]).toBeCloseTo(-1 / 3, 12);
    const left = buildBatch([unrewarded()], { missingReward: "exclude" });
    expect(left.rollouts.map((r) => r.id)).toEqual(["a"]);
    expect(left.metrics).toMatchObject({ "training/n_rollouts_excluded": 2, "training/n_groups_incomplete": 1 });
    expect(thrown(() => buildBatch([unrewarded()], { missingReward: "error" }))).toMatchObject({
      code: "missing_reward",
      message: "Rollout b ended as succeeded with reward null.",
    });
  });

  it("failed and timed-out rollouts follow their own policies", () => {
    const faulty = group("t", [
      rollout("a", 1, [call([1], [2])]),
      rollout("b", 0, [call([1], [3])], { status: "failed" }),
      rollout("c", null, [call([1], [4])], { status: "timed_out" }),
    ]);
    expect(buildBatch([faulty]).rollouts).toHaveLength(3);
    expect(buildBatch([faulty], { failed: "exclude" }).rollouts.map((r) => r.id)).toEqual(["a", "c"]);
    const both = buildBatch([faulty], { failed: "exclude", timedOut: "exclude" });
    expect(both.rollouts.map((r) => [r.id, r.advantage])).toEqual([["a", 0]]);
    expect(both.metrics).toMatchObject({
      "training/n_rollouts_failed": 1,
      "training/n_rollouts_timed_out": 1,
      "training/n_rollouts_excluded": 2,
    });
    const whole = buildBatch([faulty], { failed: "exclude", incompleteGroup: "exclude" });
    expect(whole.rollouts).toEqual([]);
    expect(whole.metrics["training/n_groups_excluded"]).toBe(1);
  });

  it("replies that ran out of tokens are counted, and left out with their reward where asked", () => {
    const cut = (attempt = "0") => call([1], [2, 2], { cutOff: true, attempt });
    const group_ = group("t", [rollout("cut", 4, [cut()]), rollout("whole", 1, [call([1], [3])])]);
    const options = { advantage: { estimator: "dr_grpo" }, skipZeroAdvantage: false } as const;
    const kept = buildBatch([group_], options);
    expect(kept.rollouts.map((r) => [r.id, r.advantage])).toEqual([
      ["cut", 1.5],
      ["whole", -1.5],
    ]);
    expect(kept.metrics).toMatchObject({ "training/n_rollouts_overlong": 1, "training/n_rollouts_excluded": 0 });
    const left = buildBatch([group_], { ...options, overlong: "exclude" });
    // Alone in its group, a rollout is its own baseline: the reward of the other one is gone with it.
    expect(left.rollouts.map((r) => [r.id, r.advantage, r.tokens])).toEqual([["whole", 0, 1]]);
    expect(spellRecords(left.rows).map((r) => r.target)).toEqual([3]);
    expect(left.metrics).toMatchObject({
      ...{ "training/n_rollouts_overlong": 1, "training/n_rollouts_excluded": 1, "training/n_groups_incomplete": 1 },
      ...{ "training/n_tokens": 1, "training/reward": 2.5 },
    });
    const whole = buildBatch([group_], { ...options, overlong: "exclude", incompleteGroup: "exclude" });
    expect([whole.rollouts, whole.metrics["training/n_groups_excluded"]]).toEqual([[], 1]);
    // A reply of an attempt that does not count says nothing of the rollout.
    const again = group("t", [rollout("a", 1, [cut("1"), call([1], [3])]), rollout("b", 0, [call([1], [4])])]);
    const found = buildBatch([again], { ...options, overlong: "exclude" });
    expect([found.rollouts.length, found.metrics["training/n_rollouts_overlong"]]).toEqual([2, 0]);
  });

  it("a group that lost rollouts before it got here is incomplete too", () => {
    const { metrics } = buildBatch([{ ...pair(), expected: 3 }]);
    expect(metrics["training/n_groups_incomplete"]).toBe(1);
  });

  it("a rollout without a sampled token takes no part in its group's baseline", () => {
    const silent = { ...pair(), rollouts: [...pair().rollouts, rollout("mute", 1, [])] };
    const { rollouts, metrics } = buildBatch([silent], { advantage: { estimator: "dr_grpo" } });
    expect(rollouts.map((r) => [r.id, r.advantage])).toEqual([
      ["bad", -0.5],
      ["good", 0.5],
    ]);
    expect(metrics).toMatchObject({ "training/n_rollouts": 3, "training/n_rollouts_w_trace": 2 });
    expect(metrics["training/reward"]).toBeCloseTo(2 / 3, 12);
  });

  it("linear rows: folded, unmerged, cut and dropped", () => {
    const linear = group("t", [
      rollout("a", 1, [call([1], [2]), call([1], [3]), call([1, 3, 4], [5, 6]), call([9], [9])]),
      rollout("b", 0, [call([1, 2, 3, 4], [5])]),
    ]);
    const limits = { maxPromptLength: 3, maxResponseLength: 3 };
    const { rows, metrics } = buildBatch([linear], { view: "trajectory", limits, skipZeroAdvantage: false });
    expect(rows.map((row) => [...row.ids])).toEqual([
      [1, 3, 4, 5],
      [9, 9],
    ]);
    expect(spellRecords(rows).map((r) => r.target)).toEqual([3, 5, 9]);
    expect(metrics).toMatchObject({
      "training/n_calls_folded": 1,
      "training/n_unmerged_rollouts": 1,
      "training/n_trace_merge_mismatch_rows": 1,
      "training/n_truncated_sample": 1,
      "training/n_sample_dropped/marked": 1,
    });
  });

  it("ages, and calls that saw two versions", () => {
    const stale = group("t", [
      rollout("a", 1, [call([1], [2, 3], { versions: [3, 5] })]),
      rollout("b", 0, [call([1], [4], { versions: null })]),
    ]);
    expect(buildBatch([stale], { version: 5 }).metrics).toMatchObject({
      "async/age_mean": 1,
      "async/age_max": 2,
      "async/n_mixed_calls": 1,
      "async/n_tokens_without_version": 1,
    });
  });
});

describe("faults", () => {
  it("a rollout or a group cannot be trained twice", () => {
    const g = pair();
    expect(thrown(() => buildBatch([g, g]))).toMatchObject({
      code: "trained_twice",
      message: "The group t is twice in one batch.",
    });
    expect(thrown(() => buildBatch([g, { ...pair(), id: "other" }])).message).toBe(
      "The rollout bad is twice in one batch.",
    );
  });

  it("an unknown view names those that there are", () => {
    expect(thrown(() => buildBatch([pair()], { view: "tree" as never })).message).toBe(
      'There is no view "tree" of a rollout\'s calls.',
    );
  });

  it("ReMax takes the group's greedy reward", () => {
    const options = { advantage: { estimator: "remax" } } as const;
    expect(buildBatch([{ ...pair(), greedyReward: 0.25 }], options).rollouts.map((r) => r.advantage)).toEqual([
      -0.25, 0.75,
    ]);
    expect(thrown(() => buildBatch([pair()], options)).code).toBe("missing_baseline");
  });

  it("does not change what it is given", () => {
    const groups = [pair()];
    const before = JSON.stringify(groups);
    buildBatch(groups);
    for (const view of linearViewNames) buildBatch(groups, { view });
    expect(JSON.stringify(groups)).toBe(before);
  });
});

describe("breaks", () => {
  it("are counted by reason, in the attempt that counts (agent-lightning 646)", () => {
    const calls = [
      call([1], [2]),
      call([1, 9], [3], { breakReason: "edited" }),
      call([7], [8], { breakReason: "side" }),
      call([6], [], { breakReason: "side" }),
      call([5], [4], { attempt: "1", breakReason: "side" }),
    ];
    const { metrics } = buildBatch([group("t", [rollout("r", 1, calls)])], {});
    const breaks = Object.entries(metrics).filter(([name]) => name.startsWith("training/breaks/"));
    expect(Object.fromEntries(breaks)).toEqual({
      "training/breaks/template": 0,
      "training/breaks/retokenised": 0,
      "training/breaks/edited": 1,
      "training/breaks/compaction": 0,
      "training/breaks/side": 2,
      "training/breaks/unknown": 0,
    });
  });
});

describe("calls longer than the device can train", () => {
  it("are left out and counted, in every view, and no row is longer than what remains", () => {
    const chain = [call([1], [2]), call([1, 2, 3], [4]), call([1, 2, 3, 4, 5], [6, 7])];
    const groups = [group("t", [rollout("a", 1, chain), rollout("b", 0, [call([1], [9])])])];
    for (const view of ["trie", ...linearViewNames] as const) {
      const { rows, metrics } = buildBatch(groups, { view, maxCallTokens: 4, maxRowTokens: 4 });
      expect(metrics).toMatchObject({ "training/n_calls_too_long": 1, "training/n_calls": 3 });
      for (const row of rows) expect(row.ids.length).toBeLessThanOrEqual(4);
      expect(spellRecords(rows).map(({ target }) => target)).not.toContain(7);
    }
  });
});
