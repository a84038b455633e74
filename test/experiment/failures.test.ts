import { describe, expect, it } from "vitest";
import { countFailures, requireSomeCalled, requireSomeRan } from "../../src/experiment/failures.ts";
import { nameGroup } from "../../src/experiment/groups.ts";
import { alignStore } from "../../src/experiment/resume.ts";
import { freshRunState, RunFolder } from "../../src/experiment/run_folder.ts";
import { memoryFiles } from "../../src/platform/memory_files.ts";
import { newRollout } from "../../src/schema/rollout.ts";
import { MemoryStore } from "../../src/store/memory_store.ts";
import { call } from "../store/samples.ts";

const group = nameGroup("g000000", { id: "t", input: {}, hidden: {} }, 4);

/** A store with the group's rollouts ended like this: null succeeded, a text failed. */
async function storeOf(ends: readonly (string | null)[]): Promise<MemoryStore> {
  const store = new MemoryStore();
  for (const [i, end] of ends.entries()) {
    const rolloutId = group.rolloutIds[i] as string;
    const config = { timeout_seconds: 1, local: null, k8s: null };
    const create = { input: {}, hidden: {}, metadata: { task: "t" }, is_train: true };
    await store.append([
      { type: "rollout_created", rollout: newRollout({ ...create, config }, rolloutId, 0) },
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

/** What requireSomeCalled says of a run with these ends, and the first agent's stderr where it wrote one. */
async function verdict(store: MemoryStore, stderr?: string): Promise<unknown> {
  const files = memoryFiles();
  if (stderr !== undefined) await files.write("/run/attempts/g000000-s0/0/stderr.log", stderr);
  const failures = await countFailures(store, [group]);
  const deps = { store, folder: new RunFolder(files, "/run") };
  return requireSomeCalled(deps, 3, [group], failures).then(
    () => null,
    (thrown: unknown) => thrown,
  );
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

  it("end the run when every agent failed before its first call, with what the first one wrote", async () => {
    const exits = new Array<string>(4).fill("agent_exit: code 1.");
    const log = `${"x".repeat(500)}\nCannot find module 'agent.ts'\n`;
    expect(await verdict(await storeOf(exits), log)).toMatchObject({
      code: "rollouts_failed",
      message: `None of the 4 agents of update 3 called its model: agent_exit: code 1. It wrote: ${log.trim().slice(-400)}`,
      do: "Mend the agent or its command line, then start the run anew.",
      exitCode: 2,
      data: { update: 3, failures: [{ code: "agent_exit", count: 4, message: "code 1." }] },
    });
    for (const empty of [undefined, " \n"]) {
      expect(await verdict(await storeOf(exits), empty)).toMatchObject({
        message: expect.stringMatching(/agent_exit: code 1\. It wrote no error\.$/),
      });
    }
  });

  it("let it go on when one agent succeeded, or one called its model", async () => {
    const exits = new Array<string>(4).fill("agent_exit: code 1.");
    expect(await verdict(await storeOf([...exits.slice(1), null]), "x")).toBeNull();
    expect(await verdict(await storeOf([null, null, null, null]))).toBeNull();
    const called = await storeOf(exits);
    await called.append([{ type: "call_recorded", call: call("c", group.rolloutIds[3] as string, [1], [2]) }]);
    expect(await verdict(called, "x")).toBeNull();
  });

  it("are run again on resume unless they are the agent's own", async () => {
    const store = await storeOf(["spawn_failed: x", "agent_exit: x", "run_timeout: x", null]);
    const how = { changes: [], taskAt: () => group.task, groupSize: 4, isHooked: false, now: 0 };
    const report = await alignStore(store, { ...freshRunState, configSha256: "" }, how);
    expect(report).toEqual({ kept: 3, restarted: 1, otherTasks: 0 });
    expect(await store.rollout("g000000-s0")).toBeNull();
  });
});
