/** verl's numbers of a batch: scores, advantages and returns, lengths of sequences with what is observed, cut ones. */
import { describe, expect, it } from "vitest";
import type { BatchOptions } from "../../src/rl/batch/batch_input.ts";
import { buildBatch } from "../../src/rl/batch/build_batch.ts";
import { prepareBatch } from "../../src/rl/batch/prepare_batch.ts";
import { call, group, rollout } from "./groups.ts";

/**
 * Two chats of one task: one of two turns with two tokens observed between them, its last reply cut off, and one of a
 * single turn.
 */
const chats = () =>
  group("t", [
    rollout("a", 1, [call([1, 2], [3, 4, 5]), call([1, 2, 3, 4, 5, 6, 7], [8], { cutOff: true })]),
    rollout("b", 0, [call([1, 2], [9, 9])]),
  ]);

function metricsOf(options: Partial<BatchOptions>): Record<string, number> {
  return buildBatch([chats()], { advantage: { estimator: "dr_grpo" }, ...options }).metrics;
}

describe("a batch's numbers under verl's names", () => {
  it("are of its sequences, prompt and all that follows, observed tokens too", () => {
    expect(metricsOf({})).toMatchObject({
      // 3 + 2 observed + 1, and 2.
      ...{ "response_length/mean": 4, "response_length/max": 6, "response_length/min": 2 },
      ...{ "response_length/clip_ratio": 0.5, "response/aborted_ratio": 0 },
      ...{ "response_length_non_aborted/mean": 4, "response_length_non_aborted/clip_ratio": 0.5 },
      ...{ "prompt_length/mean": 2, "prompt_length/max": 2, "prompt_length/min": 2, "prompt_length/clip_ratio": 0 },
      ...{ "global_seqlen/mean": 12, "global_seqlen/min": 12, "global_seqlen/max": 12 },
      ...{ "global_seqlen/balanced_min": 12, "global_seqlen/balanced_max": 12, "global_seqlen/minmax_diff": 0 },
      ...{ "critic/score/mean": 0.5, "critic/score/max": 1, "critic/score/min": 0 },
      ...{ "critic/rewards/mean": 0.5, "critic/rewards/max": 1, "critic/rewards/min": 0 },
    });
  });

  it("weigh advantages by sampled token, those that are left out for having none as well", () => {
    // Four tokens of 0.5, two of -0.5.
    const spread = { mean: 1 / 6, max: 0.5, min: -0.5 };
    const metrics = metricsOf({});
    for (const of of ["advantages", "returns"]) {
      for (const [name, value] of Object.entries(spread)) {
        expect(metrics[`critic/${of}/${name}`]).toBeCloseTo(value, 12);
      }
    }
    const dead = group("u", [rollout("c", 1, [call([4], [5, 5])]), rollout("d", 1, [call([4], [6, 6])])]);
    const batch = buildBatch([chats(), dead], { advantage: { estimator: "dr_grpo" } });
    expect(batch.metrics["training/n_tokens_trained"]).toBe(6);
    expect(batch.metrics["critic/advantages/mean"]).toBeCloseTo(1 / 10, 12);
  });

  it("are of every row by itself in linear views, and cut where these are", () => {
    const rows = metricsOf({ view: "transition" });
    // The first chat is two rows: 2 + 3 and 7 + 1 tokens; the second 2 + 2.
    expect(rows).toMatchObject({ "prompt_length/max": 7, "response_length/max": 3, "global_seqlen/mean": 17 });
    expect(rows["critic/score/mean"]).toBeCloseTo(2 / 3, 12);
    const cut = metricsOf({ view: "trajectory", limits: { maxPromptLength: 2, maxResponseLength: 4 } });
    expect(cut).toMatchObject({
      ...{ "response_length/max": 4, "response_length/min": 2, "response_length/clip_ratio": 0.5 },
      ...{ "prompt_length/clip_ratio": 1, "global_seqlen/mean": 10, "training/n_truncated_sample": 1 },
    });
  });

  it("take a KL in the reward off the rewards, not off the scores", () => {
    const options = { advantage: { estimator: "dr_grpo" }, klInReward: 0.5 } as const;
    const prepared = prepareBatch([chats()], options);
    const records = prepared.rows.reduce((n, row) => n + row.src.length, 0);
    const all = (value: number) => new Float32Array(records).fill(value);
    const { metrics } = prepared.finish({ logprobs: all(-1), refLogprobs: all(-1.5), values: null });
    expect(metrics).toMatchObject({ "critic/score/max": 1, "critic/score/min": 0 });
    // 0.5 * 0.5 for each of four tokens, and of two.
    expect(metrics["critic/rewards/max"]).toBeCloseTo(0, 12);
    expect(metrics["critic/rewards/min"]).toBeCloseTo(-0.5, 12);
  });

  it("state what was estimated, whatever weights and rejections make of it", () => {
    const options = { advantage: { estimator: "dr_grpo" } } as const;
    const plain = metricsOf({});
    const tis = { level: "token", bound: "truncate", low: 0, high: 2, batchNormalise: false } as const;
    for (const corrected of [{ correction: tis }, { rejections: [{ kind: "token_k1", upper: 1.5 } as const] }]) {
      const prepared = prepareBatch([chats()], { ...options, ...corrected });
      const records = prepared.rows.flatMap((row) => Array.from(row.oldLogprob));
      // The trainer's policy is twice as likely to draw every token.
      const logprobs = Float32Array.from(records, (logprob) => logprob + Math.log(2));
      const { metrics, rows } = prepared.finish({ logprobs, refLogprobs: null, values: null });
      const used = Math.max(...rows.flatMap((row) => Array.from(row.advantage)));
      expect(used).toBeCloseTo("correction" in corrected ? 1 : 0, 5);
      for (const of of ["advantages", "returns"]) {
        for (const name of ["mean", "max", "min"].map((each) => `critic/${of}/${each}`)) {
          expect(metrics[name], name).toBe(plain[name]);
        }
      }
    }
  });

  it("state rewards as the returns of estimators that whiten them or take a baseline off, at every level", () => {
    const plusPlus = { estimator: "reinforce_plus_plus" } as const;
    for (const level of ["rollout", "call", "agent", "row"] as const) {
      const metrics = metricsOf({ advantage: plusPlus, level });
      // Four tokens of 1, two of 0.
      expect(metrics["critic/returns/mean"], level).toBeCloseTo(4 / 6, 12);
      expect(metrics, level).toMatchObject({ "critic/returns/max": 1, "critic/returns/min": 0 });
      expect(metrics["critic/advantages/mean"], level).toBeCloseTo(0, 6);
    }
    const greedy = { ...chats(), greedyReward: 0.75 };
    const { metrics } = buildBatch([greedy], { advantage: { estimator: "remax" } });
    expect(metrics).toMatchObject({ "critic/returns/max": 1, "critic/advantages/max": 0.25 });
    // As verl has it: with a baseline, returns are the whitened advantages.
    const baseline = metricsOf({ advantage: { estimator: "reinforce_plus_plus_baseline" } });
    expect(baseline["critic/returns/max"]).toBe(baseline["critic/advantages/max"]);
    expect(baseline["critic/returns/max"]).not.toBe(1);
  });

  it("take a KL in the reward off these returns too", () => {
    const prepared = prepareBatch([chats()], { advantage: { estimator: "reinforce_plus_plus" }, klInReward: 0.5 });
    const all = (value: number) => new Float32Array(6).fill(value);
    const { metrics } = prepared.finish({ logprobs: all(-1), refLogprobs: all(-1.5), values: null });
    expect(metrics["critic/returns/max"]).toBeCloseTo(0, 12);
    expect(metrics["critic/returns/min"]).toBeCloseTo(-0.5, 12);
  });

  it("state returns to go where advantages are whitened", () => {
    const metrics = metricsOf({ advantage: { estimator: "returns", gamma: 1, whiten: 1 } });
    expect(metrics).toMatchObject({ "critic/returns/max": 1, "critic/returns/min": 0 });
    expect(metrics["critic/advantages/mean"]).toBeCloseTo(0, 12);
    expect(metrics["critic/values/mean"]).toBeUndefined();
  });

  it("of an empty batch are 0", () => {
    const { metrics } = buildBatch([], {});
    const named = Object.entries(metrics).filter(([name]) =>
      /^(critic|response|prompt_length|global_seqlen)/.test(name),
    );
    expect(named.length).toBeGreaterThan(25);
    expect(named.filter(([, value]) => value !== 0)).toEqual([]);
  });
});
