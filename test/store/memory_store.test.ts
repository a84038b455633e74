/** The memory store: the suite of all stores, and that it lets go of what is refused or deleted. */
import { describe, expect, it } from "vitest";
import { Journal } from "../../src/store/journal.ts";
import { MemoryState } from "../../src/store/memory_state.ts";
import { MemoryStore } from "../../src/store/memory_store.ts";
import { storeConformance } from "./conformance/suite.ts";
import { call, rollout } from "./samples.ts";

storeConformance("memory", async () => new MemoryStore());

describe("memory: bodies", () => {
  const request = { text: "t".repeat(300), tools: [{ name: "u".repeat(300) }] };

  it("are kept once and go with the last call that refers to them", () => {
    const state = new MemoryState(new Journal());
    for (const id of ["a", "b"]) {
      state.apply({ type: "rollout_created", rollout: rollout(id) });
      state.apply({ type: "call_recorded", call: call(`k${id}`, id, [1], [2], { request }) });
    }
    expect(state.calls.bodies.size).toBe(3);
    state.apply({ type: "rollout_deleted", rolloutId: "a", at: 1 });
    expect(state.calls.bodies.size).toBe(3);
    state.apply({ type: "rollout_deleted", rolloutId: "b", at: 1 });
    expect(state.calls.bodies.size).toBe(0);
  });

  it("are as before when a batch is taken back", () => {
    const journal = new Journal();
    const state = new MemoryState(journal);
    state.apply({ type: "rollout_created", rollout: rollout("a") });
    state.apply({ type: "call_recorded", call: call("k", "a", [1], [2], { request }) });
    journal.clear();
    state.apply({ type: "call_recorded", call: call("l", "a", [1], [2], { request: { text: "v".repeat(300) } }) });
    state.apply({ type: "rollout_deleted", rolloutId: "a", at: 1 });
    expect(state.calls.bodies.size).toBe(0);
    journal.rollBack();
    expect(state.calls.bodies.size).toBe(3);
    expect(state.calls.decode(state.calls.get("k"))).toEqual(call("k", "a", [1], [2], { request }));
  });
});
