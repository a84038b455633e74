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
    await store.append([{ type: "call_recorded", call: call("c", group.rolloutIds[3] as string, [1], [2]) }]);
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

  it("count agents that ended well without a call, for there is nothing to learn from them", async () => {
    const store = await storeOf(["agent_exit: code 3.", null, null, null]);
    await store.append([{ type: "call_recorded", call: call("c", group.rolloutIds[1] as string, [1], [2]) }]);
    expect(await countFailures(store, [group])).toEqual([
      { code: "no_call", count: 2, message: "The agent ended well without asking its model anything." },
      { code: "agent_exit", count: 1, message: "code 3." },
    ]);
  });

  it("end the run when every agent failed before its first call, with what tells of the first one's errors", async () => {
    const exits = new Array<string>(4).fill("agent_exit: code 1.");
    expect(await verdict(await storeOf(exits), "\nSyntaxError: Unexpected token\n")).toMatchObject({
      code: "rollouts_failed",
      message:
        "None of the 4 agents of update 3 called its model: agent_exit: code 1. " +
        "The first one wrote: SyntaxError: Unexpected token",
      do:
        "Mend the agent or its command line, then pass --resume: these rollouts are run again. Its model was at " +
        "OPENAI_BASE_URL (…/r/g000000-s0/0/train/v1), ANTHROPIC_BASE_URL and GOOGLE_GEMINI_BASE_URL " +
        "(…/r/g000000-s0/0/train), with OPENAI_API_KEY, ANTHROPIC_API_KEY and GEMINI_API_KEY: check that the agent reads " +
        "those of its dialect, not an address or key of its own.",
      exitCode: 2,
      data: { update: 3, failures: [{ code: "agent_exit", count: 4, message: "code 1." }] },
    });
    for (const empty of [undefined, " \n"]) {
      expect(await verdict(await storeOf(exits), empty)).toMatchObject({
        message: expect.stringMatching(/agent_exit: code 1\. The first one wrote no error\.$/),
      });
    }
  });

  it("end the run when agents ended well and none had called its model", async () => {
    expect(await verdict(await storeOf([null, null, null, null]))).toMatchObject({
      code: "rollouts_failed",
      message:
        "None of the 4 agents of update 3 called its model: no_call: The agent ended well without asking its model " +
        "anything. The first one wrote no error.",
      do: expect.stringContaining("OPENAI_BASE_URL"),
    });
    const mixed = await storeOf([null, "agent_exit: code 1.", null, "agent_exit: code 1."]);
    expect(await verdict(mixed)).toMatchObject({ code: "rollouts_failed" });
  });

  it("say why the gateway refused the calls there were", async () => {
    const store = await storeOf(new Array<string>(4).fill("agent_exit: code 1."));
    const failure = {
      ...{ rolloutId: group.rolloutIds[0] as string, attemptId: "0", code: "context_length_exceeded" },
      ...{ message: "It is too long.", httpStatus: 400, latencyMs: 1, retryCount: 0, timestamp: 1 },
    };
    await store.append([{ type: "call_failed", failure }]);
    expect(await verdict(store, "x")).toMatchObject({
      message: expect.stringContaining("last call was refused: context_length_exceeded: It is too long. The first one"),
    });
  });

  it("repeat of a long error its first and last lines, without the stack between them", async () => {
    const store = await storeOf(new Array<string>(4).fill("agent_exit: code 1."));
    const frames = Array.from({ length: 40 }, (_, i) => `    at Function.load${i} (node:internal/modules/loader:${i})`);
    const missing = `node:internal/modules/loader:1\n  throw err;\n  ^\n\nError: Cannot find module '/a/nothere.mjs'\n`;
    const short = `${missing}${frames.join("\n")}\n{ code: 'MODULE_NOT_FOUND' }\n\nNode.js v24`;
    expect(await verdict(store, short)).toMatchObject({
      message: expect.stringMatching(
        /Error: Cannot find module '\/a\/nothere\.mjs'\n\{ code: 'MODULE_NOT_FOUND' \}\nNode\.js v24$/,
      ),
    });
    const long = `First line.\n${"x".repeat(2000)}\nLast line.`;
    const { message } = (await verdict(store, long)) as Error;
    expect(message).toMatch(/The first one wrote: First line\.\nx+ … x+\nLast line\.$/);
    expect(message.length).toBeLessThan(1000);
  });

  it("let it go on when one agent called its model", async () => {
    for (const end of ["agent_exit: code 1.", null]) {
      const called = await storeOf(new Array<string | null>(4).fill(end));
      await called.append([{ type: "call_recorded", call: call("c", group.rolloutIds[3] as string, [1], [2]) }]);
      expect(await verdict(called, "x")).toBeNull();
    }
  });

  it("are run again on resume, with those that ended well without a call: what was wrong may be mended", async () => {
    const store = await storeOf(["spawn_failed: x", "agent_exit: x", null, null]);
    for (const i of [1, 3]) {
      const id = group.rolloutIds[i] as string;
      const asked = call(`c${i}`, id, [1], []);
      await store.append([{ type: "call_recorded", call: asked }]);
    }
    const how = { changes: [], taskAt: () => group.task, groupSize: 4, isHooked: false, now: 0 };
    const report = await alignStore(store, { ...freshRunState, configSha256: "" }, how);
    expect(report).toEqual({ kept: 1, restarted: 3, otherTasks: 0 });
    expect((await store.rollouts()).map((rollout) => rollout.rollout_id)).toEqual(["g000000-s3"]);
  });
});
