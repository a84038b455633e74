import { describe, expect, it } from "vitest";
import { rolloutTree } from "../../src/rl/trie/rollout_tree.ts";
import type { CallRecord } from "../../src/schema/store.ts";
import { call } from "../store/samples.ts";

const logprobs = (n: number): number[] => Array.from({ length: n }, (_, i) => Math.fround(-0.1 * (i + 1)));

describe("rollout tree", () => {
  it("is the calls' prefix tree as plain JSON", () => {
    const calls: CallRecord[] = [
      call("a", "r", [1, 2], [3, 4], { delivery: "delivered" }),
      call("b", "r", [1, 2, 3, 4, 5], [6], { parent: "a", prefixLength: 4 }),
      call("c", "r", [1, 2, 9], [8], { breakReason: "edited", delivery: "abandoned", policy: "other" }),
    ];
    const tree = rolloutTree("r", calls);
    expect(JSON.parse(JSON.stringify(tree))).toEqual(tree);
    const common = { attempt: "0", policy: "policy", break: null, delivered: false };
    expect(tree).toEqual({
      rollout: "r",
      calls: [
        { ...common, id: "a", parent: null, prefix: 0, prompt_len: 2, node: 1, lineage: 0, delivered: true },
        { ...common, id: "b", parent: "a", prefix: 4, prompt_len: 5, node: 2, lineage: 0 },
        {
          ...common,
          id: "c",
          parent: null,
          prefix: 0,
          prompt_len: 3,
          node: 3,
          lineage: 1,
          break: "edited",
          policy: "other",
        },
      ],
      nodes: [
        { id: 0, parent: null, ids: [1, 2], start_depth: 0 },
        { id: 1, parent: 0, ids: [3, 4], start_depth: 2 },
        { id: 2, parent: 1, ids: [5, 6], start_depth: 4 },
        { id: 3, parent: 0, ids: [9, 8], start_depth: 2 },
      ],
      samples: [
        { call: "a", node: 1, offset: 0, logprobs: logprobs(2), versions: [3, 3] },
        { call: "b", node: 2, offset: 1, logprobs: logprobs(1), versions: [3] },
        { call: "c", node: 3, offset: 1, logprobs: logprobs(1), versions: [3] },
      ],
    });
  });

  it("shows no break where the tokens go on after all", () => {
    const calls = [call("a", "r", [1], [2]), call("b", "r", [1, 2, 3], [4], { breakReason: "retokenised" })];
    expect(rolloutTree("r", calls).calls[1]).toMatchObject({ parent: "a", prefix: 2, break: null });
  });

  it("keeps attempts apart and has a place for calls without tokens or logprobs", () => {
    const none = new Float32Array(0);
    const foreign = call("b", "r", [], []);
    const silent = call("c", "r", [1, 2, 3], [4], { attemptId: "1" });
    silent.tokens.logprobs = none;
    const tree = rolloutTree("r", [call("a", "r", [1], [2]), foreign, silent]);
    expect(tree.calls.map(({ parent, node }) => ({ parent, node }))).toEqual([
      { parent: null, node: 0 },
      { parent: null, node: null },
      { parent: null, node: 1 },
    ]);
    expect(tree.samples.map(({ call: id, logprobs: p }) => [id, p === null])).toEqual([
      ["a", false],
      ["c", true],
    ]);
    expect(rolloutTree("r", [])).toEqual({ rollout: "r", calls: [], nodes: [], samples: [] });
  });
});
