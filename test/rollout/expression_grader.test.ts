import { describe, expect, it } from "vitest";
import { expressionFault } from "../../src/rollout/graders/expression_language.ts";
import { bindGrader } from "../../src/rollout/graders/registry.ts";
import type { GradeInput, GradeTools, TranscriptCall } from "../../src/schema/grader.ts";

import { inThread } from "./in_thread.ts";

const call = (text: string | null): TranscriptCall => ({ request: {}, text, toolCalls: [], ok: true, httpStatus: 200 });

async function rewardOf(reward: string, texts: (string | null)[], hidden: object = { answer: "42" }): Promise<number> {
  const input: GradeInput = {
    task: { id: "t1", input: { question: "sum", parts: [1, 2] }, hidden: { ...hidden } },
    finalMessage: texts.at(-1) ?? null,
    calls: texts.map(call),
    exitCode: 0,
    workspace: null,
  };
  const grade = await bindGrader("expression", { reward }).grade(input, { bounded: inThread } as GradeTools);
  expect(grade.reason).toBe("expression");
  return grade.value;
}

describe("a reward expression", () => {
  it.each([
    ["message.contains(answer) ? 1.0 : 0.0", ["answer 42 17"], 1],
    ["message.contains(answer) ? 1.0 : 0.0", ["answer 17"], 0],
    ["numbers(message) == [answer]", ["answer 42"], 1],
    ["numbers(message) == [answer]", ["answer 42 17"], 0],
    ["numbers(message) == [hidden.answer]", [null], 0],
    ["size(numbers('-1.5 and 2, 3.')) ", ["x"], 3],
    ["calls", ["a", "b", "c"], 3],
    ["replies.exists(r, r == 'use 1 plus 1') ? 0.5 : 0.0", ["use 1 plus 1", "answer 2"], 0.5],
    ["double(calls) * -0.25", ["a", null], -0.5],
    ["input.question == 'sum' && size(input.parts) == 2", ["x"], 1],
    ["message == ''", [], 1],
  ])("%s of %j is %d", async (reward, texts, value) => {
    expect(await rewardOf(reward, texts)).toBe(value);
  });

  it("compares an answer that is a number with numbers, not with texts", async () => {
    expect(await rewardOf("answer == 42.0", ["x"], { answer: 42 })).toBe(1);
    expect(await rewardOf("numbers(message) == [answer]", ["42"], { answer: 42 })).toBe(0);
  });

  it.each([
    ["message.contains(", 'Options of grader "expression" are wrong: reward: '],
    ["nothing == 1", "nothing"],
    ["'a text'", "reward: its value is of type string, not a number or a truth value"],
    ["process.exit(1)", "process"],
    ["1".repeat(5000), "reward: "],
  ])("%s is refused when the run begins", (reward, fault) => {
    expect(() => bindGrader("expression", { reward })).toThrow(fault);
  });

  it("says in one line what is wrong, or nothing", () => {
    expect(expressionFault("calls > 2")).toBeNull();
    expect(expressionFault("calls >")?.includes("\n")).toBe(false);
  });

  it("fails the rollout that it cannot be computed for", async () => {
    await expect(rewardOf("hidden.nothing == 1", ["x"])).rejects.toThrow('Grader "expression": "hidden.nothing == 1"');
    await expect(rewardOf("numbers(message)[3] == '1'", ["x"])).rejects.toThrow("Correct it.");
  });

  it("is no number where it is a text of a task", async () => {
    expect(await rewardOf("answer", ["x"])).toBeNaN();
  });
});
