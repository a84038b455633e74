/** Scripted traces: the format of each reply, and every rate of the recipe's noise table. */
import { describe, expect, it } from "vitest";
import { calculate } from "../../examples/calc/calculator.ts";
import { segments } from "../../examples/calc/conversation.ts";
import { kinds } from "../../examples/calc/kinds.ts";
import { splitOf } from "../../examples/calc/tasks.ts";
import { drawTrace, type Noise, type Stage, stageNoise, type Trace, traceAt } from "../../examples/calc/traces.ts";
import { deriveKey, Rng, seedKey } from "../../src/core/rng.ts";
import { bindGrader } from "../../src/rollout/graders/registry.ts";
import type { GradeTools } from "../../src/schema/grader.ts";

const callPattern = /^<tool_call>\n\{"name": "calculator", "arguments": \{"(\w+)": "([^"]+)"\}\}\n<\/tool_call>$/;
const answerPattern = /^The answer is (-?\d+|error)\.$/;

function traces(stage: Stage, n: number): Trace[] {
  return Array.from({ length: n }, (_, i) => traceAt(stage, 1, i));
}

/** Traces with one kind of noise only. */
function noisyBy(noise: Partial<Noise>, n = 4000): Trace[] {
  return Array.from({ length: n }, (_, i) => {
    const rng = new Rng(deriveKey(seedKey(3), "test", i));
    return drawTrace(traceAt("clean", 3, i).problem, rng, { ...stageNoise.clean, ...noise });
  });
}

const expressions = (trace: Trace) => trace.turns.flatMap(({ text }) => callPattern.exec(text)?.[2] ?? []);
const right = ({ problem }: Trace) => kinds[problem.kind].expression(problem.values);
const share = (list: readonly Trace[], test: (trace: Trace) => boolean) => list.filter(test).length / list.length;

/** Within four standard deviations of a rate. */
function expectRate(measured: number, rate: number, n: number): void {
  expect(Math.abs(measured - rate), `${measured} is not ${rate}`).toBeLessThanOrEqual(
    4 * Math.sqrt((rate * (1 - rate)) / n),
  );
}

async function rewarded({ problem, turns }: Trace): Promise<boolean> {
  const task = { id: "t", input: {}, hidden: { answer: problem.answer } };
  const finalMessage = turns.at(-1)?.text ?? null;
  const input = { task, finalMessage, calls: [], exitCode: 0, workspace: null };
  return (await bindGrader("numeric", {}).grade(input, {} as GradeTools)).value === 1;
}

describe("clean traces", () => {
  const clean = traces("clean", 1000);

  it("make one right call and answer with its result", async () => {
    for (const trace of clean) {
      expect(trace.turns).toHaveLength(2);
      expect(expressions(trace)).toEqual([right(trace)]);
      expect(trace.turns[0]?.result).toBe(trace.problem.answer);
      expect(trace.turns[1]).toEqual({ text: `The answer is ${trace.problem.answer}.`, result: null });
      expect(await rewarded(trace)).toBe(true);
    }
  });

  it("are of training questions only", () => {
    expect(clean.every(({ problem }) => splitOf(problem.question) === "train")).toBe(true);
    expect(traces("noisy", 500).every(({ problem }) => splitOf(problem.question) === "train")).toBe(true);
  });

  it("are the same for the same stage, seed and number", () => {
    expect(traceAt("noisy", 4, 9)).toEqual(traceAt("noisy", 4, 9));
    expect(traceAt("noisy", 4, 9)).not.toEqual(traceAt("noisy", 5, 9));
    expect(segments(traceAt("noisy", 7, 0)).map(({ text }) => text)).toMatchInlineSnapshot(`
      [
        "<|im_start|>system
      Answer with the calculator.

      # Tools

      <tools>
      {"type": "function", "function": {"name": "calculator", "description": "Evaluate arithmetic.", "parameters": {"type": "object", "properties": {"expression": {"type": "string"}}, "required": ["expression"]}}}
      </tools><|im_end|>
      <|im_start|>user
      Finn had 99 eggs and lost 79. How many are left?<|im_end|>
      <|im_start|>assistant
      ",
        "<tool_call>
      {"name": "calculator", "arguments": {"expression": "99-79"}}
      </tool_call><|im_end|>",
        "
      <|im_start|>user
      <tool_response>
      20
      </tool_response><|im_end|>
      <|im_start|>assistant
      ",
        "The answer is 20.<|im_end|>",
      ]
    `);
  });
});

describe("noisy traces", () => {
  const noisy = traces("noisy", 6000);

  it("never have more replies than an agent allows, and end with one that the tool does not answer", () => {
    for (const { turns } of noisy) {
      expect(turns.length).toBeLessThanOrEqual(4);
      expect(turns.map(({ result }) => result === null)).toEqual(turns.map((_, i) => i === turns.length - 1));
    }
  });

  it("show each call's true result", () => {
    for (const { text, result } of noisy.flatMap(({ turns }) => turns)) {
      const call = callPattern.exec(text);
      if (!call || result === null) continue;
      expect(result).toBe(call[1] === "expression" ? calculate(call[2] as string) : "error: expression is missing");
    }
  });

  it("succeed in about 53 of 100", async () => {
    const good = (await Promise.all(noisy.map(rewarded))).filter(Boolean).length;
    expect(Math.abs(good / noisy.length - 0.53)).toBeLessThan(0.03);
  });

  it("answer without the tool at the rate .08, near the truth or with an operand", () => {
    const list = noisyBy({ direct: 0.08 });
    const direct = list.filter(({ turns }) => turns.length === 1);
    expectRate(direct.length / list.length, 0.08, list.length);
    for (const { problem, turns } of direct) {
      const value = Number(answerPattern.exec(turns[0]?.text ?? "")?.[1]);
      const { a, b } = problem.values;
      const near = Math.abs(value - Number(problem.answer)) <= 99 || value === 0;
      expect(near || value === a || value === b).toBe(true);
    }
  });

  it("write a call that does not parse at the rate .06, in three ways, and stop", () => {
    const list = noisyBy({ unparsable: 0.06 }, 8000);
    const bad = list.filter(({ turns }) => turns.length === 1);
    expectRate(bad.length / list.length, 0.06, list.length);
    const ways = [
      /"arguments": \{"expression": "[^"]+"\}\n/,
      /"name": "calculator", "expression"/,
      /\ncalculator\(.+\)\n/,
    ];
    for (const way of ways)
      expectRate(
        share(bad, ({ turns }) => way.test(turns[0]?.text ?? "")),
        1 / 3,
        bad.length,
      );
    for (const { turns } of bad) {
      const body = /^<tool_call>\n(.*)\n<\/tool_call>$/.exec(turns[0]?.text ?? "")?.[1] ?? "";
      const parse = () => (JSON.parse(body) as { arguments: unknown }).arguments ?? JSON.parse("");
      expect(parse).toThrow();
    }
  });

  it("use a wrong key first at the rate .06", () => {
    const list = noisyBy({ wrongKey: 0.06 });
    const wrong = list.filter(({ turns }) => callPattern.exec(turns[0]?.text ?? "")?.[1] === "input");
    expectRate(wrong.length / list.length, 0.06, list.length);
    expect(wrong.every(({ turns }) => turns.length === 3)).toBe(true);
  });

  it("change one digit of an operand at the rate .10", () => {
    const list = noisyBy({ operand: 0.1 });
    const changed = list.filter((trace) => expressions(trace)[0] !== right(trace));
    expectRate(changed.length / list.length, 0.1, list.length);
    for (const trace of changed) {
      const [is, was] = [expressions(trace)[0] ?? "", right(trace)];
      expect(is).toHaveLength(was.length);
      expect([...is].filter((char, i) => char !== was[i])).toHaveLength(1);
    }
  });

  it("follow each kind's wrong strategy at its rate", () => {
    const list = noisyBy({ strategy: 1 }, 20_000);
    for (const [name, kind] of Object.entries(kinds)) {
      const own = list.filter(({ problem }) => problem.kind === name);
      const wrong = share(
        own,
        (trace) => expressions(trace)[0] === kind.wrong(trace.problem.values) && right(trace) !== expressions(trace)[0],
      );
      expectRate(wrong, kind.wrongShare, own.length);
    }
  });

  it("split five kinds into two or three calls at the rate .25, with the right result", () => {
    const list = noisyBy({ split: 0.25 }, 8000);
    for (const [name, kind] of Object.entries(kinds)) {
      const own = list.filter(({ problem }) => problem.kind === name);
      const split = own.filter(({ turns }) => turns.length > 2);
      expectRate(split.length / own.length, kind.steps ? 0.25 : 0, own.length);
      for (const { problem, turns } of split) {
        expect(turns).toHaveLength(name === "two" ? 4 : 3);
        expect(turns.at(-2)?.result).toBe(problem.answer);
      }
    }
    expect(Object.keys(kinds).filter((name) => kinds[name as keyof typeof kinds].steps)).toEqual([
      "addsub",
      "par",
      "rest",
      "two",
      "x3",
    ]);
  });

  it("repeat the same call at the rate .12, and again", () => {
    const list = noisyBy({ again: 0.12 }, 8000);
    expectRate(
      share(list, ({ turns }) => turns.length >= 3),
      0.12,
      list.length,
    );
    expectRate(
      share(list, ({ turns }) => turns.length === 4),
      0.12 ** 2,
      list.length,
    );
    for (const trace of list) expect(new Set(expressions(trace)).size).toBe(1);
  });

  it("miscopy a digit of the result at the rate .06", () => {
    const list = noisyBy({ miscopy: 0.06 });
    const wrong = list.filter(({ problem, turns }) => turns.at(-1)?.text !== `The answer is ${problem.answer}.`);
    expectRate(wrong.length / list.length, 0.06, list.length);
  });
});
