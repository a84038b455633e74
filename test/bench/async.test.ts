import { describe, expect, it } from "vitest";
import { fitCosts } from "../../src/bench/async/fit.ts";
import { predict } from "../../src/bench/async/run_mode.ts";
import { asyncModel, asyncWork, promptOf, rewardOf, turnsOf, virtualWorkload } from "../../src/bench/async/workload.ts";

describe("fitCosts", () => {
  it("finds the coefficients that made the values", () => {
    const features = [
      [1, 1, 2],
      [1, 4, 1],
      [1, 16, 9],
      [1, 48, 3],
    ];
    const values = features.map(([a = 0, b = 0, c = 0]) => 5 * a + 0.25 * b + 2 * c);
    for (const [i, c] of fitCosts(features, values).entries()) expect(c).toBeCloseTo([5, 0.25, 2][i] as number, 9);
  });

  it("takes no negative costs", () => {
    // The second feature would have to be negative; without it the first is the best relative fit.
    const costs = fitCosts(
      [
        [1, 1],
        [1, 2],
        [1, 3],
      ],
      [10, 8, 6],
    );
    expect(costs[1]).toBe(0);
    expect(costs[0]).toBeGreaterThan(6);
    expect(costs[0]).toBeLessThan(10);
    expect(fitCosts([[1], [1]], [-1, -2])).toEqual([0]);
  });
});

describe("the list of work", () => {
  it("has calls and tool times of the stated distributions, and the same for everyone", () => {
    const all = [1, 2, 3].flatMap((seed) => virtualWorkload(seed, "tools").groups.flat());
    expect(all).toHaveLength(3 * asyncWork.groups * asyncWork.groupSize);
    const calls = all.map((turns) => turns.length).sort((a, b) => a - b);
    expect(calls[calls.length >> 1]).toBe(asyncWork.callsMedian);
    expect([calls[0], calls.at(-1)]).toEqual([1, asyncWork.callsMax]);
    const slept = all.flatMap((turns) => turns.slice(1).map((turn) => turn.toolMs)).sort((a, b) => a - b);
    expect(Math.abs((slept[slept.length >> 1] as number) / asyncWork.toolMedianMs - 1)).toBeLessThan(0.1);
    expect(turnsOf(2, 5, 1, "tools")).toEqual(turnsOf(2, 5, 1, "tools"));
    const zero = turnsOf(2, 5, 1, "zero");
    expect(zero).toEqual(turnsOf(2, 5, 1, "tools").map((turn) => ({ ...turn, toolMs: 0 })));
  });

  it("fits the model, and shares first prompts within a group only", () => {
    const { promptTokens, toolTokens, replyTokens, callsMax } = asyncWork;
    const longest = promptTokens + (callsMax - 1) * toolTokens + callsMax * replyTokens;
    expect(longest).toBeLessThanOrEqual(asyncModel.max_position_embeddings);
    expect(promptOf(1, 3, 0, 0)).toEqual(promptOf(1, 3, 2, 0));
    expect(promptOf(1, 3, 0, 1)).not.toEqual(promptOf(1, 3, 2, 1));
    expect(promptOf(1, 3, 0, 0)).not.toEqual(promptOf(1, 4, 0, 0));
    expect(rewardOf([Int32Array.of(0, 200), Int32Array.of(127, 128)])).toBe(0.5);
  });
});

describe("predict", () => {
  it("counts the prompt tokens that the engine computes in a sync run: what it measured for seed 1", () => {
    const costs = {
      ...{ prefillStep: 1, prefillToken: 0, prefillPairs: 0, decodeStep: 1, decodeSequence: 0, decodeContext: 0 },
      ...{ action: 0, trainPass: 1, trainToken: 0, trainPairs: 0, optimizer: 1 },
    };
    for (const latency of ["tools", "zero"] as const) {
      expect(predict({ seed: 1, mode: "sync", latency }, { costs, turnMs: 0 }).promptTokens).toBe(249_056);
    }
  });

  it("orders the modes as they are meant to be, on a device that is about as slow as the tools", () => {
    const costs = {
      ...{ prefillStep: 3, prefillToken: 0.01, prefillPairs: 0.027 },
      ...{ decodeStep: 1.3, decodeSequence: 0.03, decodeContext: 0.6, action: 0.3 },
      ...{ trainPass: 6, trainToken: 0.026, trainPairs: 0.066, optimizer: 7.5 },
    };
    const run = (mode: "sync" | "collocated" | "interleaved") => {
      const all = [1, 2, 3].map((seed) => predict({ seed, mode, latency: "tools" }, { costs, turnMs: 0.2 }));
      const sum = (of: (one: (typeof all)[number]) => number): number => all.reduce((total, one) => total + of(one), 0);
      return {
        seconds: sum((one) => one.seconds),
        idle: sum((one) => one.deviceSeconds.idle / one.seconds) / all.length,
        updates: all.map((one) => one.updates),
        maxAge: Math.max(...all.map((one) => one.maxAge)),
      };
    };
    const [sync, collocated, interleaved] = [run("sync"), run("collocated"), run("interleaved")];
    expect(sync.seconds / collocated.seconds).toBeGreaterThan(1.5);
    expect(collocated.seconds / interleaved.seconds).toBeGreaterThan(1.2);
    expect(interleaved.idle).toBeLessThan(0.05);
    for (const { updates } of [sync, collocated, interleaved]) expect(updates).toEqual([6, 6, 6]);
    expect(sync.maxAge).toBe(0);
    expect(interleaved.maxAge).toBeLessThanOrEqual(asyncWork.maxAge);
  });
});
