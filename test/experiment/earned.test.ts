import { describe, expect, it } from "vitest";
import { withEarned } from "../../src/experiment/earned.ts";
import type { CallRecord, RolloutRecord } from "../../src/rl/batch/batch_input.ts";
import { buildBatch } from "../../src/rl/batch/build_batch.ts";
import { earnedBy } from "../../src/schema/earned.ts";
import type { RolloutEvent } from "../../src/schema/wire.ts";
import { call, group } from "../rl/groups.ts";

function rewards(...data: Record<string, unknown>[]): RolloutEvent[] {
  return data.map((d, i) => ({ event_id: `${i}`, event_type: "reward", data: d }) as unknown as RolloutEvent);
}

/** A rollout of these calls with what the events give. */
function read(calls: readonly CallRecord[], ...data: Record<string, unknown>[]): RolloutRecord {
  const ids = calls.map(({ id }) => id);
  return withEarned({ id: "r", attempt: "0", status: "succeeded", calls }, earnedBy(rewards(...data), ids));
}

describe("rewards of an attempt", () => {
  it("the rollout's is the last one that names nobody; what is no number is absent, so that the one before stands", () => {
    const given = (...data: Record<string, unknown>[]) => earnedBy(rewards(...data), []);
    expect(given({ value: 0.25 }, { value: 1, agent: "a" }, { value: 0.75 }).reward).toBe(0.75);
    for (const value of [true, "0.7", null, undefined, Number.NaN, Number.POSITIVE_INFINITY]) {
      expect(given({ value: 1 }, { value })).toMatchObject({ reward: 1, ignored: 1 });
      expect(given({ value })).toMatchObject({ reward: null, ignored: 1 });
      expect(given({ value: 1, agent: "a" }, { value, agent: "a" }).agentRewards).toEqual({ a: 1 });
    }
    expect(given().reward).toBeNull();
    const claimed = { ...rewards({ value: 1 })[0], event_type: "claimed_reward" } as RolloutEvent;
    expect(earnedBy([claimed], [])).toMatchObject({ reward: null, ignored: 0 });
  });

  it("an agent's is its last; a call's add up and may name the reply's id; tokens have their own", () => {
    const calls = [
      call([1], [2], { id: "c1", agent: "coder" }),
      call([1], [2, 3, 4], { id: "c2" }),
      call([1], [5], { id: "c3" }),
    ];
    const found = read(
      calls,
      { value: 1, agent: "coder" },
      { value: 0, agent: "coder" },
      { value: 0.5, call_id: "chatcmpl-c1" },
      { value: 0.25, call_id: "chatcmpl-c1" },
      { token_values: [1, "x", 2], call_id: "c2" },
    );
    expect(found.agentRewards).toEqual({ coder: 0 });
    expect(found.calls.map((c) => [c.reward, c.tokenRewards])).toEqual([
      [0.75, undefined],
      [undefined, [1, 0, 2]],
      [undefined, undefined],
    ]);
    // Nobody gave the rollout's own: it is their sum.
    expect(found.reward).toBe(3.75);
    expect(found).not.toHaveProperty("ignoredRewards");
  });

  it("a call that is named by either of its ids is one call, and the last tokens are the last by either", () => {
    const found = read(
      [call([1], [2, 3], { id: "abc" })],
      { value: 0.5, call_id: "abc" },
      { value: 0.5, call_id: "chatcmpl-abc" },
      { token_values: [1, 1], call_id: "resp_abc" },
      { token_values: [0, 2], call_id: "abc" },
    );
    expect([found.reward, found.calls[0]?.reward, found.calls[0]?.tokenRewards]).toEqual([3, 1, [0, 2]]);
  });

  it("what names no call or agent of the attempt earns nothing, and is counted", () => {
    const calls = [call([1], [2], { id: "abc", agent: "coder", policy: "p" })];
    const found = read(
      calls,
      { value: 0.5, call_id: "abc" },
      { value: 7, call_id: "unknown" },
      { value: "1", call_id: "abc" },
      { value: 1, agent: "nobody" },
      { value: 1, agent: "p" },
    );
    expect([found.reward, found.ignoredRewards]).toEqual([0.5, 3]);
    expect(read(calls, { value: 7, call_id: "unknown" }).reward).toBeNull();
    expect(buildBatch([group("t", [found])]).metrics["training/n_rewards_ignored"]).toBe(3);
  });
});
