import { describe, expect, it } from "vitest";
import { countFailures, requireSomeRan } from "../../src/experiment/failures.ts";
import { nameGroup } from "../../src/experiment/groups.ts";
import { alignStore } from "../../src/experiment/resume.ts";
import { freshRunState } from "../../src/experiment/run_folder.ts";
import { newRollout } from "../../src/schema/rollout.ts";
import { MemoryStore } from "../../src/store/memory_store.ts";

const group = nameGroup("g000000", { id: "t", input: {}, hidden: {} }, 4);

/** A store with the group's rollouts ended like this: null succeeded, a text failed. */
async function storeOf(ends: readonly (string | null)[]): Promise<MemoryStore> {
  const store = new MemoryStore();
  for (const [i, end] of ends.entries()) {
    const rolloutId = group.rolloutIds[i] as string;
    const config = { timeout_seconds: 1, local: null, k8s: null };
    await store.append([
      { type: "rollout_created", rollout: newRollout({ input: {}, is_train: true, config }, rolloutId, 0) },
      { type: "rollout_patched", rolloutId, patch: { state: "running", last_attempt_id: "0" }, at: 0 },
      {
        type: "rollout_patched",
        rolloutId,
        patch: end === null ? { state: "succeeded" } : { state: "failed", error_message: end },
        at: 0,
      },
    ]);
  }
  return store;
}

describe("failures of an update's rollouts", () => {
  it("are counted by cause, the most frequent first, with the first one's words", async () => {
    const store = await storeOf(["agent_exit: code 3.", "grader_failed: no field.", "grader_failed: other.", null]);
    expect(await countFailures(store, [group])).toEqual([
      { code: "grader_failed", count: 2, message: "no field." },
      { code: "agent_exit", count: 1, message: "code 3." },
    ]);
    expect(await countFailures(await storeOf(["ended by hand"]), [group])).toEqual([
      { code: "", count: 1, message: "ended by hand" },
    ]);
  });

  it("end the run when no rollout could be run at all, and not when an agent ran and failed", async () => {
    const spawn = { code: "spawn_failed", count: 3, message: "Could not start x." };
    expect(() => requireSomeRan(2, [spawn, { code: "hook_failed", count: 1, message: "h" }], 4)).toThrow(
      "None of the 4 rollouts of update 2 could be run: spawn_failed: Could not start x.",
    );
    expect(() => requireSomeRan(2, [spawn], 4)).not.toThrow();
    expect(() => requireSomeRan(2, [spawn, { code: "run_timeout", count: 1, message: "" }], 4)).not.toThrow();
    expect(() => requireSomeRan(2, [{ code: "agent_exit", count: 4, message: "" }], 4)).not.toThrow();
    expect(() => requireSomeRan(2, [], 4)).not.toThrow();
  });

  it("are run again on resume unless they are the agent's own", async () => {
    const store = await storeOf(["spawn_failed: x", "agent_exit: x", "run_timeout: x", null]);
    const report = await alignStore(store, { ...freshRunState, configSha256: "" }, 0);
    expect(report).toEqual({ kept: 3, restarted: 1 });
    expect(await store.rollout("g000000-s0")).toBeNull();
  });
});
