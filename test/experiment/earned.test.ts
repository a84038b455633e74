import { describe, expect, it } from "vitest";
import { earnedBy, withEarned } from "../../src/experiment/earned.ts";
import type { RolloutEvent } from "../../src/schema/wire.ts";
import { call } from "../rl/groups.ts";

function rewards(...data: Record<string, unknown>[]): RolloutEvent[] {
  return data.map((d, i) => ({ event_id: `${i}`, event_type: "reward", data: d }) as unknown as RolloutEvent);
}

const bare = { id: "r", attempt: "0", status: "succeeded" as const };

describe("rewards of an attempt", () => {
  it("the rollout's is the last one that names nobody; what is no number counts as none", () => {
    expect(earnedBy(rewards({ value: 0.25 }, { value: 1, agent: "a" }, { value: 0.75 })).reward).toBe(0.75);
    for (const value of [true, "1", null, Number.NaN, Number.POSITIVE_INFINITY, 1e308, -1.1e12]) {
      expect(earnedBy(rewards({ value: 1 }, { value })).reward).toBeNull();
    }
    expect(earnedBy([]).reward).toBeNull();
    expect(earnedBy([{ ...rewards({ value: 1 })[0], event_type: "claimed_reward" } as RolloutEvent]).reward).toBeNull();
  });

  it("an agent's is its last; a call's add up and may name the reply's id; tokens have their own", () => {
    const earned = earnedBy(
      rewards(
        { value: 1, agent: "coder" },
        { value: 0, agent: "coder" },
        { value: 0.5, call_id: "chatcmpl-c1" },
        { value: 0.25, call_id: "chatcmpl-c1" },
        { token_values: [1, "x", 2], call_id: "c2" },
      ),
    );
    const calls = [call([1], [2], { id: "c1" }), call([1], [2, 3, 4], { id: "c2" }), call([1], [5], { id: "c3" })];
    const found = withEarned({ ...bare, calls }, earned);
    expect(found.agentRewards).toEqual({ coder: 0 });
    expect(found.calls.map((c) => [c.reward, c.tokenRewards])).toEqual([
      [0.75, undefined],
      [undefined, [1, 0, 2]],
      [undefined, undefined],
    ]);
    // Nobody gave the rollout's own: it is their sum.
    expect(found.reward).toBe(3.75);
  });

  it("one that is too large to train with counts as none, whoever it is given to, and so does such a sum", () => {
    const given = [
      { value: 1e308, agent: "a" },
      { value: -1e308, call_id: "c1" },
      { token_values: [1e13, 1], call_id: "c2" },
    ];
    const earned = earnedBy(rewards(...given, { value: 1e12, agent: "b" }));
    expect(earned.agentRewards).toEqual({ b: 1e12 });
    expect([...earned.calls]).toEqual([
      ["c1", {}],
      ["c2", { tokenRewards: [0, 1] }],
    ]);
    const twice = earnedBy(rewards({ value: 1e12, call_id: "c1" }, { value: 1e12, call_id: "c2" }));
    expect(withEarned({ ...bare, calls: [] }, twice).reward).toBeNull();
  });
});
