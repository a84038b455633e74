// What needs no device; the measurements themselves are run by people, on the adapter they want to know about.
import { describe, expect, it } from "vitest";
import { suites } from "../../src/bench/registry.ts";
import { summarizeSamples } from "../../src/bench/suite.ts";
import { runLeyden } from "./run_leyden.ts";

describe("summary of samples", () => {
  it("has the median, the bounds and the count, in any order", () => {
    expect(summarizeSamples([3])).toEqual({ median: 3, min: 3, max: 3, n: 1 });
    expect(summarizeSamples([10, 2, 9])).toEqual({ median: 9, min: 2, max: 10, n: 3 });
    expect(summarizeSamples([10, 2, 9, 1])).toEqual({ median: 5.5, min: 1, max: 10, n: 4 });
  });
});

describe("leyden bench", () => {
  it("knows its suites by name", () => {
    expect(suites.map(({ name }) => name)).toEqual([
      "matmul",
      "step",
      "decode",
      "async",
      "memory",
      "peers",
      "tree",
      "examples",
      "load",
    ]);
  });

  it("checks its arguments before it opens a device", async () => {
    for (const [args, expected] of [
      [[], "error [usage]: leyden bench needs SUITE.\nUse: leyden bench SUITE...\n"],
      [["matmul", "steps"], 'error [usage]: There is no suite "steps".\nDid you mean "step"?\n'],
      [
        ["all"],
        'error [usage]: There is no suite "all".\nKnown are: matmul, step, decode, async, memory, peers, tree, examples, load.\n',
      ],
      [
        ["peers", "--only", "gpt_stop"],
        'error [usage]: None of these suites has a choice "gpt_stop".\nDid you mean "gpt_step"?\n',
      ],
      [
        ["step", "--only", "gpt_step"],
        'error [usage]: None of these suites has a choice "gpt_step".\nLeave --only out, or name a suite that has choices: async, memory, peers, examples.\n',
      ],
      [["step", "--repeats", "0"], "error [usage]: --repeats is 0, below 1.\n"],
    ] as const) {
      const { code, err } = await runLeyden(["bench", ...args]);
      expect({ code, err }).toEqual({ code: 4, err: expect.stringContaining(expected) });
    }
  });
});
