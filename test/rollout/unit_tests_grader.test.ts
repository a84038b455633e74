/** The unit_tests grader on real files and processes, against agents that cheat. */
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { systemClock } from "../../src/platform/clock.ts";
import { nodeFiles } from "../../src/platform/node_files.ts";
import { systemProcesses } from "../../src/platform/node_processes.ts";
import { markVariable } from "../../src/platform/process_marks.ts";
import { bindGrader } from "../../src/rollout/graders/registry.ts";
import { copyRegular } from "../../src/rollout/graders/regular_copy.ts";
import type { Grade } from "../../src/schema/grader.ts";
import { inThread } from "./in_thread.ts";
import { tempFolder } from "./rig.ts";

const command = ["sh", "tests/check.sh"];
/** Passes when the agent's file says what it should. */
const check = 'test "$(cat answer.txt)" = right';

function place(folder: string, texts: Record<string, string>): string {
  for (const [path, text] of Object.entries(texts)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  return folder;
}

async function grade(workspace: string, options: object = {}, tests: object = { "tests/check.sh": check }) {
  const logFolder = tempFolder();
  const task = { id: "t1", input: {}, hidden: { tests } };
  const input = { task, finalMessage: null, calls: [], exitCode: 0, workspace };
  const tools = { files: nodeFiles, processes: systemProcesses, clock: systemClock, logFolder, bounded: inThread };
  const result: Grade = await bindGrader("unit_tests", { command, ...options }).grade(input, tools);
  return { ...result, logFolder };
}

describe("unit_tests", () => {
  it("pays for passing tests and not for failing ones; the log is kept", async () => {
    expect(await grade(place(tempFolder(), { "answer.txt": "right" }))).toMatchObject({
      value: 1,
      reason: "tests_passed",
      details: { exitCode: 0 },
    });
    const failed = await grade(
      place(tempFolder(), { "answer.txt": "wrong" }),
      {},
      { "tests/check.sh": "echo no; exit 2" },
    );
    expect(failed).toMatchObject({ value: 0, reason: "tests_failed", details: { exitCode: 2 } });
    expect(readFileSync(join(failed.logFolder, "grader_stdout.log"), "utf8")).toBe("no\n");
  });

  it("restores tests that the agent changed, and leaves the workspace as it is", async () => {
    const workspace = place(tempFolder(), { "answer.txt": "wrong", "tests/check.sh": "exit 0" });
    expect(await grade(workspace)).toMatchObject({ value: 0, reason: "tests_failed" });
    expect(readFileSync(join(workspace, "tests/check.sh"), "utf8")).toBe("exit 0");
  });

  it("puts a test file where the agent made a folder", async () => {
    const workspace = place(tempFolder(), { "answer.txt": "right", "tests/check.sh/trap.txt": "" });
    expect(await grade(workspace)).toMatchObject({ value: 1, reason: "tests_passed" });
  });

  it("does not write through a link that the agent put in the tests' place", async () => {
    const outside = tempFolder();
    const workspace = place(tempFolder(), { "answer.txt": "right" });
    symlinkSync(outside, join(workspace, "tests"));
    expect(await grade(workspace)).toMatchObject({ value: 1 });
    expect(readdirSync(outside)).toEqual([]);
  });

  it("takes only the submitted files when it starts from a pristine folder", async () => {
    const pristine = place(tempFolder(), { "answer.txt": "wrong", "tests/check.sh": "old", "lib.sh": "exit 1" });
    const workspace = place(tempFolder(), { "answer.txt": "right", "lib.sh": "exit 0", "sitecustomize.py": "cheat" });
    const tests = { "tests/check.sh": `test ! -e sitecustomize.py && grep -q 'exit 1' lib.sh && ${check}` };
    expect(await grade(workspace, { pristine, submit: ["answer.txt"] }, tests)).toMatchObject({ value: 1 });
    const none = await grade(place(tempFolder(), {}), { pristine, submit: ["answer.txt"] }, tests);
    expect(none).toMatchObject({ value: 0, reason: "tests_failed" });
  });

  it("ends tests that take too long, with their children", async () => {
    const started = performance.now();
    const slow = await grade(place(tempFolder(), {}), { timeoutSeconds: 0.2 }, { "tests/check.sh": "sleep 30 & wait" });
    expect(slow).toMatchObject({ value: 0, reason: "tests_timeout" });
    expect(performance.now() - started).toBeLessThan(8000);
  });

  it("gives the tests no keys of the controller", async () => {
    const { logFolder } = await grade(place(tempFolder(), {}), {}, { "tests/check.sh": "env" });
    const names = readFileSync(join(logFolder, "grader_stdout.log"), "utf8").match(/^[A-Z_]+(?==)/gm) ?? [];
    expect(names).toContain("PATH");
    // The mark by which a program's descendants are found opens nothing.
    expect(names.filter((name) => /KEY|TOKEN|LEYDEN|OPENAI|VITEST/.test(name))).toEqual([markVariable]);
  });

  it.each([["../x.sh"], ["/etc/x.sh"], ["a/../../x.sh"], ["C:\\x.sh"], ["a//b.sh"]])(
    "refuses the test path %s",
    async (path) => {
      await expect(grade(place(tempFolder(), {}), {}, { [path]: "" })).rejects.toThrow(
        `Grader "unit_tests": the path "${path}" leads out of the workspace. Use plain relative paths.`,
      );
    },
  );

  it("says what is missing: a workspace, a map of tests", async () => {
    await expect(grade(null as unknown as string)).rejects.toThrow("the agent had no workspace. Set rollout.workspace");
    await expect(grade(tempFolder(), {}, ["x"])).rejects.toThrow('hidden field "tests" of task t1 does not map paths');
  });
});

describe("copyRegular", () => {
  it("stops at its bounds, a folder that links to itself included", async () => {
    const from = place(tempFolder(), { "a.txt": "12345", "b.txt": "12345" });
    const bounds = { bytes: 100, files: 100, depth: 5 };
    const all = await copyRegular(nodeFiles, from, join(tempFolder(), "x"), bounds);
    expect(all).toEqual({ bytes: 10, files: 2, skipped: 0, tooLarge: false });
    const few = await copyRegular(nodeFiles, from, join(tempFolder(), "x"), { ...bounds, bytes: 9 });
    expect(few.tooLarge).toBe(true);
    symlinkSync(from, join(from, "self"));
    expect((await copyRegular(nodeFiles, from, join(tempFolder(), "x"), bounds)).tooLarge).toBe(true);
  });

  it("skips links to nowhere and keeps what links point to as plain files", async () => {
    const outside = place(tempFolder(), { "secret.txt": "text" });
    const from = place(tempFolder(), {});
    symlinkSync(join(outside, "secret.txt"), join(from, "link.txt"));
    symlinkSync(join(outside, "nowhere"), join(from, "dangling"));
    const to = join(tempFolder(), "x");
    expect(await copyRegular(nodeFiles, from, to)).toMatchObject({ files: 2, skipped: 1, tooLarge: false });
    writeFileSync(join(to, "link.txt"), "changed");
    expect(readFileSync(join(outside, "secret.txt"), "utf8")).toBe("text");
    expect(existsSync(join(to, "dangling"))).toBe(false);
  });
});
