import { describe, expect, it } from "vitest";
import { type Contender, measurementOf, type StepTime, takeTurns } from "../../src/bench/contest.ts";

/** A contender that answers with given milliseconds, and counts its steps as its value. */
function fake(name: string, log: string[], msOf: (step: number) => number, offset = 0): Contender {
  let [calls, steps] = [0, 0];
  return {
    async step(count) {
      log.push(`${name} ${count}`);
      steps += count;
      return { ms: msOf(calls++), cpuMs: 2 * msOf(calls - 1), value: steps + offset };
    },
    close: async () => undefined,
  };
}

const options = { repeats: 3, tolerance: 1e-3, rest: async () => undefined };

describe("taking turns", () => {
  it("compiles, chooses the steps of a turn by ours, then alternates who is first", async () => {
    const log: string[] = [];
    const turns = await takeTurns(
      fake("ours", log, (call) => [500, 20, 10, 11, 12][call] as number),
      fake("peer", log, (call) => [900, 80, 40, 44, 42][call] as number),
      options,
    );
    const rounds = [
      ["ours 1", "peer 1"],
      ["ours 1", "peer 1"],
      ["ours 3", "peer 3"],
      ["peer 3", "ours 3"],
    ];
    expect(log).toEqual([...rounds, ["ours 3", "peer 3"]].flat());
    expect(turns.first).toMatchObject({ ours: { ms: 500 }, peer: { ms: 900 } });
    expect(turns.ours.map(({ ms }) => ms)).toEqual([10, 11, 12]);
    expect(turns.peer.map(({ ms }) => ms)).toEqual([40, 44, 42]);
  });

  it("rests before every turn", async () => {
    const log: string[] = [];
    const rest = async () => void log.push("rest");
    await takeTurns(
      fake("ours", log, () => 60),
      fake("peer", log, () => 60),
      { ...options, repeats: 1, rest },
    );
    expect(log.filter((_, i) => i % 2 === 0)).toEqual(Array.from({ length: 6 }, () => "rest"));
    expect(log.filter((entry) => entry === "rest")).toHaveLength(6);
  });

  it.each([0.002, Number.NaN])("refuses to compare different results (%s)", async (offset) => {
    const turns = takeTurns(
      fake("ours", [], () => 60),
      fake("peer", [], () => 60, offset),
      options,
    );
    await expect(turns).rejects.toMatchObject({
      code: "bench_result",
      exitCode: 1,
      message: `After step 1 the peer has ${1 + offset} and Leyden 1.`,
    });
  });
});

describe("the measurement of turns", () => {
  const time = (ms: number, cpuMs: number): StepTime => ({ ms, cpuMs, value: 0 });

  it("has both summaries and ratios of medians, above 1 where ours is faster", () => {
    const turns = {
      ours: [time(10, 20), time(14, 22), time(12, 24)],
      peer: [time(30, 30), time(60, 33), time(20, 36)],
      first: { ours: time(100, 0), peer: time(700, 0) },
    };
    expect(measurementOf("gpt_step", "jax-js-wasm", turns, 0.25)).toEqual({
      name: "gpt_step",
      samples: [10, 14, 12],
      facts: {
        peer: "jax-js-wasm",
        ours_ms: 12,
        ours_min_ms: 10,
        ours_max_ms: 14,
        peer_ms: 30,
        peer_min_ms: 20,
        peer_max_ms: 60,
        speedup: 2.5,
        ours_cpu_ms: 22,
        peer_cpu_ms: 33,
        cpu_speedup: 1.5,
        ours_first_ms: 100,
        peer_first_ms: 700,
        other_load: 0.25,
      },
    });
  });
});
