// Plan: which calls of a rollout are trained, and why the others are not.
import { describe, expect, it } from "vitest";
import { evaluated, validationMetrics } from "../../src/experiment/evaluation.ts";
import { readGroup, readRollout } from "../../src/experiment/groups.ts";
import { newRollout } from "../../src/schema/rollout.ts";
import type { CallRecord } from "../../src/schema/store.ts";
import { MemoryStore } from "../../src/store/memory_store.ts";

function call(id: string, more: Partial<CallRecord>): CallRecord {
  return {
    id,
    rolloutId: "r",
    attemptId: "0",
    mode: "train",
    dialect: "chat_completions",
    policy: "policy",
    own: true,
    callKey: `${id}.0`,
    parent: null,
    prefixLength: 0,
    breakReason: null,
    tokens: {
      promptIds: Int32Array.of(1),
      replyIds: Int32Array.of(2),
      logprobs: Float32Array.of(-1),
      versions: Int32Array.of(0),
    },
    sampling: {},
    overridden: {},
    truncated: false,
    request: {},
    response: {},
    server: { model: "policy", endpoint: "engine", version: 0 },
    httpStatus: 200,
    finishReason: "stop",
    retryCount: 0,
    latencyMs: 1,
    timestamp: 1,
    delivery: "delivered",
    ...more,
  };
}

describe("calls of a rollout", () => {
  it.each<[string | undefined, Partial<CallRecord>]>([
    [undefined, {}],
    [undefined, { server: { model: "policy", endpoint: "script", version: 0 } }],
    [undefined, { delivery: "pending" }],
    ["another model", { own: false }],
    ["no model computed it", { server: { model: "policy", endpoint: "null", version: 0 } }],
    ["not sampled for training", { mode: "val" }],
    ["abandoned", { delivery: "abandoned" }],
  ])("are left out as %j for %j", async (excluded, more) => {
    const store = new MemoryStore();
    const rollout = newRollout({ input: {} }, "r", 1);
    await store.append([
      { type: "rollout_created", rollout },
      { type: "call_recorded", call: call("a", more) },
    ]);
    const { calls } = await readRollout(store, "r");
    expect(calls.map((one) => one.excluded)).toEqual([excluded]);
  });

  it("count in a validation by the same rule, for their own purpose", async () => {
    const store = new MemoryStore();
    const long = {
      tokens: {
        promptIds: Int32Array.of(1),
        replyIds: Int32Array.of(2, 3, 4, 5),
        logprobs: Float32Array.of(-1, -1, -1, -1),
        versions: Int32Array.of(0, 0, 0, 0),
      },
    };
    const calls = [
      call("a", { mode: "val" }),
      call("b", { mode: "val", ...long, delivery: "abandoned" }),
      call("c", { mode: "val", ...long, side: "title" }),
      call("d", { mode: "val", ...long, own: false }),
      call("e", { mode: "train", ...long }),
      call("f", { mode: "val", delivery: "delivered" }),
    ];
    await store.append([
      { type: "rollout_created", rollout: newRollout({ input: {} }, "r", 1) },
      ...calls.map((one) => ({ type: "call_recorded" as const, call: one })),
    ]);
    const task = { id: "t", input: {}, hidden: {} };
    const group = await readGroup(store, { id: "g", task, rolloutIds: ["r"] }, "val");
    expect(group.rollouts[0]?.calls.map(({ excluded }) => excluded)).toEqual([
      ...[undefined, "abandoned", "side call", "another model", "not sampled for validation", undefined],
    ]);
    expect(validationMetrics([evaluated(group)])).toMatchObject({
      ...{ "val/turn_count": 2, "val/mean_response_length_per_turn": 1 },
      "val/mean_total_response_length_per_rollout": 2,
    });
  });
});
