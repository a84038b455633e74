import {
  fileTextsSchema,
  type Grade,
  type GradeInput,
  type Grader,
  type GradeTools,
  type UnitTestsOptions,
  unitTestsOptionsSchema,
} from "../../schema/grader.ts";
import type { ProcessExit, ProcessHandle } from "../../schema/process_host.ts";
import { GraderError } from "../errors.ts";
import { copyFile, copyRegular } from "./regular_copy.ts";
import { truthOf } from "./truth.ts";

/** Variables of the controller that the tests see; its keys are not among them. */
const inheritedVariables = ["PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "TEMP", "TMP", "SYSTEMROOT", "PATHEXT"];
const outputLimitBytes = 4 * 2 ** 20;
const killWaitMs = 5_000;

/** @throws GraderError "grader_failed" for a path that leads out of the folder */
function insidePath(path: string): string {
  const parts = path.split(/[\\/]/);
  if (parts.some((part) => part === ".." || part === "") || /^[A-Za-z]:/.test(path)) {
    throw new GraderError("unit_tests", `the path "${path}" leads out of the workspace.`, "Use plain relative paths.");
  }
  return parts.join("/");
}

function testFiles(input: GradeInput, field: string): Record<string, string> {
  const parsed = fileTextsSchema.safeParse(truthOf("unit_tests", input.task, field));
  if (parsed.success) return parsed.data;
  throw new GraderError(
    "unit_tests",
    `hidden field "${field}" of task ${input.task.id} does not map paths to texts.`,
    'Write it as {"tests/test_x.py": "..."}.',
  );
}

/** Puts the agent's work into the fresh folder; false when it is too large to be one. */
async function copyWork(input: GradeInput, options: UnitTestsOptions, tools: GradeTools, to: string): Promise<boolean> {
  const { workspace } = input;
  if (workspace === null) {
    throw new GraderError("unit_tests", "the agent had no workspace.", "Set rollout.workspace to a folder.");
  }
  const { files } = tools;
  if (options.pristine === undefined) return !(await copyRegular(files, workspace, to)).tooLarge;
  await copyRegular(files, options.pristine, to);
  for (const path of (options.submit ?? []).map(insidePath)) {
    const [from, target] = [files.join(workspace, path), files.join(to, path)];
    await files.remove(target);
    if (await files.exists(from)) await copyFile(files, from, target);
  }
  return true;
}

async function waitFor(handle: ProcessHandle, tools: GradeTools, ms: number): Promise<ProcessExit | null> {
  const done = new AbortController();
  try {
    return await Promise.race([handle.exit, tools.clock.sleep(ms, done.signal).then(() => null)]);
  } finally {
    done.abort();
  }
}

async function runTests(options: UnitTestsOptions, tools: GradeTools, cwd: string): Promise<Grade> {
  const { files, processes, logFolder } = tools;
  const [command, ...args] = options.command as [string, ...string[]];
  await files.makeFolder(logFolder);
  const handle = await processes.spawn(command, args, {
    cwd,
    inheritEnv: inheritedVariables,
    stdoutFile: files.join(logFolder, "grader_stdout.log"),
    stderrFile: files.join(logFolder, "grader_stderr.log"),
    outputLimitBytes,
  });
  const exit = await waitFor(handle, tools, options.timeoutSeconds * 1000);
  handle.kill("SIGKILL");
  if (exit === null) {
    await waitFor(handle, tools, killWaitMs);
    return { value: 0, reason: "tests_timeout", details: { timeoutSeconds: options.timeoutSeconds } };
  }
  const details = { exitCode: exit.code, signal: exit.signal, outputBytes: exit.outputBytes };
  return exit.code === 0
    ? { value: 1, reason: "tests_passed", details }
    : { value: 0, reason: "tests_failed", details };
}

/**
 * 1 when the task's tests pass in a fresh copy of the agent's workspace: no process of the agent lives any more, links
 * are not followed out of the copy, and the test files are written anew from the task. Reasons: tests_passed,
 * tests_failed, tests_timeout, workspace_too_large.
 */
export const unitTests: Grader<UnitTestsOptions> = {
  name: "unit_tests",
  optionsSchema: unitTestsOptionsSchema,
  async grade(input, options, tools) {
    const tests = Object.entries(testFiles(input, options.field));
    const paths = tests.map(([path]) => insidePath(path));
    const folder = await tools.files.makeTempFolder("leyden-grade-");
    try {
      const work = tools.files.join(folder, "work");
      if (!(await copyWork(input, options, tools, work))) return { value: 0, reason: "workspace_too_large" };
      for (const [i, [, text]] of tests.entries()) {
        await tools.files.remove(tools.files.join(work, paths[i] as string));
        await tools.files.write(tools.files.join(work, paths[i] as string), text);
      }
      return await runTests(options, tools, work);
    } finally {
      await tools.files.remove(folder);
    }
  },
};
