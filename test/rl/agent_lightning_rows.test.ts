import { describe, expect, it } from "vitest";
import {
  type AgentLightningBatch,
  agentLightningRows,
  type FinishedRollout,
} from "../../src/rl/agent_lightning/rows.ts";
import type { Call } from "../../src/rl/call.ts";
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
    expect(shapes(rowsOf([finished("r", calls)], "rows_best_prefix"))).toEqual([
      [[1], [2, 3, 4], [1, 0, 1]],
      [[5], [6, 7, 8], [1, 0, 1]],
    ]);
  });

  it("the longest context wins, though a later row's is a prefix too", () => {
    const calls = [call([1, 2, 3], [4]), call([1], [2]), call([1, 2, 3, 4, 5], [6])];
    expect(
      shapes(
        agentLightningRows([finished("r", calls)], "rows_best_prefix", { maxPromptLength: 9, maxResponseLength: 9 }, 0),
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
    // One too few and one too many are two faults, although the total is right.
    const both = [call([1], [2]), call([1, 2], [3, 4], [-0.1]), call([1, 2, 3, 4], [5], [-0.1, -0.2])];
    expect(rowsOf([finished("r", both)]).rows[0]?.logprobs).toBeNull();
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
