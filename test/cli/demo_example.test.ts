import { describe, expect, it } from "vitest";
import { exampleOf } from "../../src/app/demo.ts";
import { exampleLines } from "../../src/cli/demo_example.ts";
import type { TranscriptCall } from "../../src/schema/grader.ts";

const question = { role: "user", content: "Ann has 12 pens and buys 30 more. How many pens now?" };

function call(said: Partial<TranscriptCall>, messages: readonly unknown[] = [question]): TranscriptCall {
  return { request: { messages }, text: null, toolCalls: [], ok: true, httpStatus: 200, ...said };
}

const uses = (expression: string): Partial<TranscriptCall> => ({
  toolCalls: [{ name: "calculator", arguments: JSON.stringify({ expression }) }],
});
const answered = (content: string): unknown[] => [question, { role: "tool", content }];

describe("the demo's example", () => {
  it("shows tools with their answers, and what was said", () => {
    const before = { calls: [call(uses("12*30")), call({ text: "360\n" }, answered("360"))], reward: 0 };
    const after = { calls: [call(uses("12+30")), call({ text: "42" }, answered("42"))], reward: 1 };
    expect(exampleLines({ task: "t", before, after })).toEqual([
      "",
      "One of them: Ann has 12 pens and buys 30 more. How many pens now?",
      '  before: calculator(12*30) = 360, then says "360" (reward 0)',
      '   after: calculator(12+30) = 42, then says "42" (reward 1)',
    ]);
  });

  it("shows what a model does badly as it is, and cuts what is long", () => {
    const broken = { name: "calculator", arguments: '{"expression": 12' };
    const before = { calls: [call({ toolCalls: [broken] }), call({ ok: false, httpStatus: 400 })], reward: 0 };
    const after = { calls: [call({ text: "x".repeat(300) })], reward: 0 };
    expect(exampleLines({ task: "t", before, after }).slice(2)).toEqual([
      '  before: calculator({"expression": 12), then a call that failed (400) (reward 0)',
      `   after: says "${"x".repeat(100)}…" (reward 0)`,
    ]);
    const none = { calls: [], reward: 0 };
    expect(exampleLines({ task: "t", before: none, after })[2]).toBe("  before: no call (reward 0)");
    expect(exampleLines(null)).toEqual([]);
  });

  it("is a task that was learnt, else one that succeeds, else any", () => {
    const of = (...rewards: number[]) => ({
      results: rewards.map((reward, i) => ({ task: `t${i}`, rewards: [reward, 1] })),
      calls: rewards.map(() => []),
    });
    expect(exampleOf(of(1, 0, 0), of(1, 0, 1))?.task).toBe("t2");
    expect(exampleOf(of(0, 1, 0), of(0, 1, 0))?.task).toBe("t1");
    expect(exampleOf(of(0, 1), of(0, 0))?.task).toBe("t0");
    expect(exampleOf(of(), of())).toBeNull();
  });
});
