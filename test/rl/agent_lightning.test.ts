import { describe, expect, it } from "vitest";
import { Rng, seedKey } from "../../src/core/rng.ts";
import {
  finalReward,
  lastOfEachPrompt,
  type RawEvent,
  requestCalls,
  usableCalls,
} from "../../src/rl/agent_lightning/events.ts";
import {
  broadcastAdvantages,
  normalisedAdvantages,
  type RewardedRow,
  rolloutLevelAdvantages,
} from "../../src/rl/agent_lightning/rollout_level.ts";
import { keptRows, planRowDrop } from "../../src/rl/agent_lightning/row_drop.ts";
import {
  type AgentLightningBatch,
  agentLightningRows,
  type FinishedRollout,
} from "../../src/rl/agent_lightning/rows.ts";
import type { Call } from "../../src/rl/call.ts";
import { policyMetrics } from "../../src/rl/losses/policy_metrics.ts";
import { ppo } from "../../src/rl/losses/ppo.ts";
import type { LinearViewName } from "../../src/rl/views/linear_views.ts";

/** A call with log-probabilities -0.1, -0.2, …, as the vectors have them. */
function call(promptIds: number[], replyIds: number[], logprobs: number[] | null | undefined = undefined): Call {
  const usual = replyIds.map((_, i) => -(i + 1) / 10);
  return {
    id: "c",
    attempt: "0",
    promptIds,
    replyIds,
    logprobs: logprobs === undefined ? usual : logprobs,
    versions: null,
  };
}

function finished(id: string, calls: Call[], reward: number | null = null, step = 1, index = 0): FinishedRollout {
  return { id, group: "g", step, index, reward, calls };
}

function rowsOf(
  rollouts: FinishedRollout[],
  level: LinearViewName = "trajectory",
  maxResponse = 8,
): AgentLightningBatch {
  return agentLightningRows(rollouts, level, { maxPromptLength: 4, maxResponseLength: maxResponse }, 0);
}

const shapes = (batch: AgentLightningBatch): [number[], number[], number[]][] =>
  batch.rows.map((row) => [row.prompt, row.response, row.mask]);

describe("test vectors of Agent Lightning 1.0 (the spec's Appendix A)", () => {
  it("A continuous calls are one row", () => {
    const calls = [call([1, 2], [3, 4]), call([1, 2, 3, 4, 5], [6]), call([1, 2, 3, 4, 5, 6], [7])];
    const batch = rowsOf([finished("r", calls, 0.5)]);
    expect(shapes(batch)).toEqual([
      [
        [1, 2],
        [3, 4, 5, 6, 7],
        [1, 1, 0, 1, 1],
      ],
    ]);
    expect(batch.rows[0]).toMatchObject({
      logprobs: [-0.1, -0.2, 0, -0.1, -0.1],
      scorePosition: 4,
      reward: 0.5,
      calls: 3,
    });
  });

  it("B a break begins a row", () => {
    const batch = rowsOf([finished("r", [call([1, 2], [3, 4]), call([9], [8]), call([9, 8, 7], [6])])]);
    expect(shapes(batch)).toEqual([
      [
        [1, 2],
        [3, 4],
        [1, 1],
      ],
      [[9], [8, 7, 6], [1, 0, 1]],
    ]);
    expect(batch).toMatchObject({ unmergedRollouts: 1, mismatchRows: 1 });
  });

  it("C two interleaved chains are four rows, and two by longest prefix", () => {
    const calls = [call([1], [2]), call([5], [6]), call([1, 2, 3], [4]), call([5, 6, 7], [8])];
    const batch = rowsOf([finished("r", calls)]);
    expect(batch.rows.map((row) => row.prompt)).toEqual([[1], [5], [1, 2, 3], [5, 6, 7]]);
    expect(batch.mismatchRows).toBe(3);
    expect(shapes(rowsOf([finished("r", calls)], "best_prefix"))).toEqual([
      [[1], [2, 3, 4], [1, 0, 1]],
      [[5], [6, 7, 8], [1, 0, 1]],
    ]);
  });

  it("the longest context wins, though a later row's is a prefix too", () => {
    const calls = [call([1, 2, 3], [4]), call([1], [2]), call([1, 2, 3, 4, 5], [6])];
    expect(
      shapes(
        agentLightningRows([finished("r", calls)], "best_prefix", { maxPromptLength: 9, maxResponseLength: 9 }, 0),
      ),
    ).toEqual([
      [
        [1, 2, 3],
        [4, 5, 6],
        [1, 0, 1],
      ],
      [[1], [2], [1]],
    ]);
  });

  it("D a cut response may carry its score on an observation", () => {
    const calls = [call([1], [2, 3]), call([1, 2, 3, 4, 5, 6, 7, 8, 9], [10])];
    const batch = rowsOf([finished("r", calls)], "trajectory", 5);
    expect(shapes(batch)).toEqual([[[1], [2, 3, 4, 5, 6], [1, 1, 0, 0, 0]]]);
    expect(batch.rows[0]).toMatchObject({ scorePosition: 4, truncated: true });
    expect(batch.truncatedSamples).toBe(1);
  });

  it("E a long prompt is cut to its beginning and marked", () => {
    const batch = rowsOf([finished("a", [call([1, 2, 3, 4, 5], [6])], 1), finished("b", [call([1], [6])], null, 1, 1)]);
    expect(batch.rows.map((row) => [row.prompt, row.drop, row.reward])).toEqual([
      [[1, 2, 3, 4], true, 1],
      [[1], false, 0],
    ]);
  });

  it("F one row without log-probabilities takes them from the whole batch", () => {
    const batch = rowsOf([finished("a", [call([1], [2])]), finished("b", [call([1], [2], null)])]);
    expect(batch.rows.map((row) => row.logprobs)).toEqual([[-0.1], null]);
    expect(batch.logprobsEmitted).toBe(false);
  });

  it("G a wrong number of log-probabilities voids the row's", () => {
    const batch = rowsOf([finished("r", [call([1], [2]), call([1, 2], [3, 4], [-0.1])])]);
    expect(shapes(batch)).toEqual([[[1], [2, 3, 4], [1, 1, 1]]]);
    expect(batch.rows[0]?.logprobs).toBeNull();
    const first = rowsOf([finished("r", [call([1], [2, 3], [-0.1]), call([1, 2, 3, 9, 9], [4])])]);
    expect(first.rows[0]?.logprobs).toBeNull();
  });

  it("H nothing to train is an error", () => {
    expect(() => rowsOf([finished("r", [])])).toThrow("None of 1 rollouts gave a training row.");
  });

  it("I an empty rollout beside a good one gives one row", () => {
    expect(rowsOf([finished("a", []), finished("b", [call([1], [2])], 0)]).rows).toHaveLength(1);
  });

  it("K rows are in order of (step, index)", () => {
    const one = [call([1], [2])];
    const batch = rowsOf([finished("x", one, 0, 2, 0), finished("y", one, 0, 1, 1), finished("z", one, 0, 1, 0)]);
    expect(batch.rows.map((row) => row.rollout.id)).toEqual(["z", "y", "x"]);
  });
});

describe("rollout-level advantage", () => {
  const row = (rollout: string, group: string, reward: number, mask: number[] = [1]): RewardedRow => ({
    ...{ rollout, group, reward, mask },
  });
  const rows = [
    row("a", "g", 1),
    row("a", "g", 1),
    row("a", "g", 1),
    row("b", "g", 0),
    row("c", "g", 0),
    row("d", "g", 0),
  ];

  it("sees each rollout once, however many rows it has", () => {
    const grpo = rolloutLevelAdvantages(rows, { estimator: "grpo" });
    expect([...grpo.values()]).toEqual([1.499997, -0.499999, -0.499999, -0.499999].map((a) => expect.closeTo(a, 6)));
    expect([...rolloutLevelAdvantages(rows, { estimator: "grpo", std: "none" }).values()]).toEqual([
      ...[0.75, -0.25, -0.25, -0.25],
    ]);
    expect(rolloutLevelAdvantages(rows, { estimator: "rloo" }).get("b")).toBeCloseTo(-1 / 3, 12);
  });

  it("gives the vectors of two groups", () => {
    const two = [row("1", "p", 1), row("2", "p", 0), row("3", "q", 0.25), row("4", "q", 0.75), row("5", "q", 0.5)];
    expect([...rolloutLevelAdvantages(two, { estimator: "grpo" }).values()]).toEqual(
      [0.7071058, -0.7071058, -0.999996, 0.999996, 0].map((a) => expect.closeTo(a, 6)),
    );
  });

  it("refuses rows of one rollout that disagree", () => {
    expect(() => rolloutLevelAdvantages([row("a", "g", 1), row("a", "h", 1)], { estimator: "grpo" })).toThrow(
      "Rollout a has rows of groups g and h.",
    );
    expect(() => rolloutLevelAdvantages([row("a", "g", 1), row("a", "g", 0)], { estimator: "grpo" })).toThrow(
      "Rollout a has rows with rewards 1 and 0.",
    );
  });

  it("gives the per-rollout loss of the vectors", () => {
    const masks = [
      [1, 1, 0, 0],
      [1, 0, 1, 0],
      [1, 1, 1, 1],
    ];
    const batch = [row("A", "g", 1, masks[0]), row("A", "g", 1, masks[1]), row("B", "g", 0, masks[2])];
    const raw = broadcastAdvantages(
      batch,
      new Map([
        ["A", 1.5],
        ["B", -0.5],
      ]),
    );
    const scaled = normalisedAdvantages(batch, raw, "rows");
    expect(scaled[0]?.[0]).toBeCloseTo(0.125, 12);
    expect(scaled[2]?.[0]).toBeCloseTo(-0.5 / 12, 12);
    const nan = Number.NaN;
    const old = [
      [-1, -2, nan, nan],
      [-1, nan, -0.5, nan],
      [-1, -1, -1, -1],
    ];
    const now = [
      [-0.7, -2.5, nan, nan],
      [-0.9, nan, -0.5, nan],
      [-1.5, -0.5, 2, -1],
    ];
    const options = { clipLow: 0.2, clipHigh: 0.28, dualClip: 3 };
    const lossRows = masks.map((mask, i) => ({
      ...{ mask, logprob: now[i] ?? [], oldLogprob: old[i] ?? [], advantages: scaled[i] ?? [] },
    }));
    const loss = lossRows.flatMap((r) => [...ppo.tokens(r, options).loss]).reduce((a, b) => a + b, 0);
    // The vector was computed in float32.
    expect(loss).toBeCloseTo(-0.230265975, 7);
    const metrics = policyMetrics(lossRows, options);
    expect(metrics.clipFrac).toBeCloseTo(0.25, 12);
    expect(metrics.approxKl).toBeCloseTo(-0.3625, 12);
    expect(metrics.dualClipFrac).toBeCloseTo(0.125, 12);
  });
});

describe("row dropping", () => {
  it("keeps order, and takes rows of equal rewards first", () => {
    const groups = ["a", "a", "b", "b", "b", "c"];
    const rewards = [1, 0, 1, 1, 1, 0];
    const plan = planRowDrop(groups, rewards, 2, 1);
    expect(plan).toMatchObject({ trained: 2, dropped: 4, sameReward: [2, 3, 4, 5], droppedRandom: 0, skipStep: false });
    expect(keptRows(plan, 6, new Rng(seedKey(1)))).toEqual([0, 1]);
    const some = planRowDrop(groups, rewards, 5, null);
    const kept = keptRows(some, 6, new Rng(seedKey(1)));
    expect(kept).toHaveLength(5);
    expect(kept).toEqual(expect.arrayContaining([0, 1]));
    expect(kept).toEqual([...kept].sort((x, y) => x - y));
    expect(kept).toEqual(keptRows(some, 6, new Rng(seedKey(1))));
  });
});

describe("events", () => {
  const request = (prompt: number[], reply: number[], extra: object = {}): RawEvent => ({
    event_type: "model_request",
    data: {
      status: "ok",
      http_status: 200,
      response: { prompt_token_ids: prompt, choices: [{ token_ids: reply }] },
      ...extra,
    },
  });

  it("an empty retry hides the good answer, because folding comes first", () => {
    expect(usableCalls([request([1], [2]), request([1], [])])).toEqual([]);
    expect(usableCalls([request([1], []), request([1], [2])])).toHaveLength(1);
  });

  it("errors, by status or code, are no calls", () => {
    const events = [request([1], [2], { status: "error" }), request([3], [4], { http_status: 429 }), request([5], [6])];
    expect(usableCalls(events).map((c) => c.promptIds)).toEqual([[5]]);
    expect(requestCalls(events).map((c) => c.failed)).toEqual([true, true, false]);
  });

  it("reads the forms of chat, completions and stream chunks", () => {
    const completions = {
      choices: [{ prompt_token_ids: [7], token_ids: [8, 9], logprobs: { token_logprobs: [-1, -2] } }],
    };
    const chunks = [{ prompt_token_ids: [7], choices: [{ token_ids: [8] }] }, { choices: [{ token_ids: [9] }] }];
    const [a, b] = usableCalls([request([], [], { response: completions }), request([], [], { response: chunks })]);
    // Both have the prompt [7]: the last one stays.
    expect(a).toMatchObject({ promptIds: [7], replyIds: [8, 9], logprobs: null });
    expect(b).toBeUndefined();
    expect(usableCalls([request([], [], { response: completions })])[0]?.logprobs).toEqual([-1, -2]);
  });

  it("survives anything in an event", () => {
    for (const data of [
      null,
      3,
      "x",
      [],
      {},
      { response: null },
      { response: { choices: "no" } },
      { response: [null] },
    ]) {
      expect(usableCalls([{ event_type: "model_request", data }])).toEqual([]);
    }
    const odd = { choices: [{ token_ids: [1, "2"], logprobs: { content: [null] } }], prompt_token_ids: "abc" };
    expect(usableCalls([request([], [], { response: odd })])).toEqual([]);
  });

  it("the last reward counts, and only if it is a number", () => {
    const reward = (value: unknown): RawEvent => ({ event_type: "reward", data: { value } });
    expect(finalReward([reward(5), reward(0.25)])).toBe(0.25);
    for (const value of [true, "1", null, undefined, Number.NaN])
      expect(finalReward([reward(1), reward(value)])).toBeNull();
    expect(finalReward([])).toBeNull();
  });

  it("folding keeps the last of each prompt at its place", () => {
    const calls = [call([1], [2]), call([3], [4]), call([1], [5])];
    expect(lastOfEachPrompt(calls).map((c) => c.replyIds)).toEqual([[4], [5]]);
  });
});
