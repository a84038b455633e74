/** What people's own expressions and patterns compute, in a worker thread: it has an end, and the next one is answered. */
import { afterEach, describe, expect, it } from "vitest";
import { platform } from "../../src/platform/node.ts";
import { BoundedClient } from "../../src/rollout/graders/bounded_client.ts";
import { bindGrader } from "../../src/rollout/graders/registry.ts";
import type { GradeInput, GradeTools } from "../../src/schema/grader.ts";

const open: BoundedClient[] = [];
const spawn = () => platform.spawnWorker(new URL("../../src/app/bounded_worker.ts", import.meta.url));

function client(limitMs: number): BoundedClient {
  const made = new BoundedClient({ spawn, clock: platform.clock, limitMs });
  open.push(made);
  return made;
}

afterEach(async () => {
  for (const one of open.splice(0)) await one.close();
});

const message = `${"a".repeat(40)}!`;
const input: GradeInput = {
  task: { id: "t1", input: {}, hidden: { answer: "42" } },
  finalMessage: message,
  calls: [],
  exitCode: 0,
  workspace: null,
};

const list = "[1,2,3,4,5,6,7,8,9,10]";
/** A loop within loops, ten times ten times each. */
const loops = (depth: number): string =>
  depth === 0 ? "true" : `${list}.all(x${depth}, ${list}.all(y${depth}, ${loops(depth - 1)}))`;

describe("an expression without an end", () => {
  it.each([
    ["a pattern that backtracks", "message.matches('^(a+)+$')"],
    ["loops within loops", loops(6)],
    [
      "a text that doubles",
      Array.from({ length: 24 }, (_, i) => i)
        .reduce((inner, i) => `cel.bind(v${i}, v${i + 1} + v${i + 1}, ${inner})`, "size(v0)")
        .replace(/^/, "cel.bind(v24, [1], ")
        .concat(")"),
    ],
  ])("%s is ended, its rollout fails, and the next is judged", { timeout: 30_000 }, async (_name, reward) => {
    const tools = { bounded: client(500) } as unknown as GradeTools;
    const grade = (text: string) => bindGrader("expression", { reward: text }).grade(input, tools);
    const ended = grade(reward);
    const next = grade("message.contains('!')");
    await expect(ended).rejects.toMatchObject({
      code: "grader_failed",
      message: `Grader "expression": ${JSON.stringify(reward)} failed: it takes longer than 0.5 s, and was ended. Correct it.`,
    });
    expect(await next).toEqual({ value: 1, reason: "expression" });
  });
});

describe("a pattern of answers", () => {
  it("has the same end", { timeout: 30_000 }, async () => {
    const tools = { bounded: client(500) } as unknown as GradeTools;
    const grade = (pattern: string) => bindGrader("exact", { pattern }).grade(input, tools);
    await expect(grade("^(a+)+$")).rejects.toThrow(
      'Grader "exact": pattern "^(a+)+$" takes longer than 0.5 s, and was ended. Fix it.',
    );
    expect((await grade("x(.)")).reason).toBe("no_answer");
    await expect(grade("(")).rejects.toThrow('pattern "(" is no regular expression.');
  });
});

it("what is asked when the run has ended fails", async () => {
  const one = client(5_000);
  const asked = one.ask({ kind: "pattern", pattern: "^(a+)+$", text: message });
  await platform.clock.sleep(50);
  await one.close();
  expect(await asked).toEqual({ value: null, fault: "it was ended with its run" });
});
