/** The calc tasks: kinds uniform, operands in range, answers right by another reading of the text, splits disjoint. */
import { describe, expect, it } from "vitest";
import { type KindName, kinds } from "../../examples/calc/kinds.ts";
import { dataset, drawProblem, type Problem, splitOf } from "../../examples/calc/tasks.ts";
import { Rng, seedKey } from "../../src/core/rng.ts";

/** The numbers of a question in their order of appearance; those it lacks are NaN. */
type Numbers = [a: number, b: number, c: number, d: number];

/** Every text of a question, and what its numbers make, in their order of appearance. */
const readings: readonly (readonly [RegExp, (n: Numbers) => number])[] = [
  [/^\w+ has # \w+ and buys # more\. How many \w+ now\?$/, ([a, b]) => a + b],
  [/^There are # \w+ here and # \w+ there\. How many in all\?$/, ([a, b]) => a + b],
  [/^\w+ had # \w+ and lost #\. How many are left\?$/, ([a, b]) => a - b],
  [/^Of # \w+, \w+ sold #\. How many remain\?$/, ([a, b]) => a - b],
  [/^One box holds # \w+\. How many \w+ are in # boxes\?$/, ([a, b]) => a * b],
  [/^\w+ makes # \w+ a day\. How many in # days\?$/, ([a, b]) => a * b],
  [/^\w+ has # \w+, gets # and gives away #\. How many \w+ now\?$/, ([a, b, c]) => a + b - c],
  [/^\w+ has # \w+, \w+ has # and a friend has #\. How many in all\?$/, ([a, b, c]) => a + b + c],
  [/^Each day \w+ finds # \w+ and \w+ finds #\. How many in # days\?$/, ([a, b, c]) => (a + b) * c],
  [/^\w+ had # \w+ and gave # to each of # friends\. How many are left\?$/, ([a, b, c]) => a - b * c],
  [/^\w+ has # boxes of # \w+, \w+ has # boxes of #\. How many \w+ in all\?$/, ([a, b, c, d]) => a * b + c * d],
  [/^What is # \+ # - #\?$/, ([a, b, c]) => a + b - c],
  [/^Compute # \+ # - #\.$/, ([a, b, c]) => a + b - c],
  [/^What is \(# - #\) \* #\?$/, ([a, b, c]) => (a - b) * c],
  [/^Compute \(# - #\) \* #\.$/, ([a, b, c]) => (a - b) * c],
];

function readAnswer(question: string): { text: number; answer: number } {
  const shape = question.replace(/\d+/g, "#");
  const found = [...question.matchAll(/\d+/g)].map(([digits]) => Number(digits));
  const [a = Number.NaN, b = Number.NaN, c = Number.NaN, d = Number.NaN] = found;
  const text = readings.findIndex(([pattern]) => pattern.test(shape));
  const reading = readings[text];
  if (!reading) throw new Error(`no reading for: ${question}`);
  return { text, answer: reading[1]([a, b, c, d]) };
}

function problems(n: number, seed = 1): Problem[] {
  const rng = new Rng(seedKey(seed));
  return Array.from({ length: n }, () => drawProblem(rng, "train"));
}

const sample = problems(6000);

describe("calc questions", () => {
  it("have the answer that another reading of the text gives, in every wording", () => {
    const seen = new Map<number, number>();
    for (const { question, answer } of sample) {
      const reading = readAnswer(question);
      seen.set(reading.text, (seen.get(reading.text) ?? 0) + 1);
      expect(answer, question).toBe(String(reading.answer));
    }
    expect(seen.size).toBe(readings.length);
  });

  it("are of ten kinds, equally often", () => {
    const counts = new Map<KindName, number>();
    for (const { kind } of sample) counts.set(kind, (counts.get(kind) ?? 0) + 1);
    expect(counts.size).toBe(10);
    // 600 expected; the standard deviation is 23.
    for (const n of counts.values()) expect(Math.abs(n - 600)).toBeLessThan(100);
  });

  it("draw operands within each kind's limits, up to their ends", () => {
    const small = new Set<number>();
    const large = new Set<number>();
    for (const { kind, values: v, answer } of sample) {
      const isSmall = { par: [v.c], rest: [v.b, v.c], two: [v.a, v.c], x3: [v.c] }[kind as string] ?? [];
      const isLarge = { par: [v.a, v.b], rest: [v.a], two: [v.b, v.d], x3: [v.a, v.b] }[kind as string] ?? [v.a, v.b];
      for (const n of isSmall) small.add(n);
      for (const n of isLarge) large.add(n);
      if (["sub", "addsub", "x3"].includes(kind)) expect(Number(answer)).toBeGreaterThanOrEqual(0);
      if (kind === "rest") expect(Number(answer)).toBeGreaterThanOrEqual(3);
      expect(v.N).not.toBe(v.M);
    }
    expect([...small].sort((a, b) => a - b)).toEqual([3, 4, 5, 6, 7, 8, 9]);
    expect([...large].sort((a, b) => a - b)).toEqual(Array.from({ length: 89 }, (_, i) => i + 11));
  });

  it("are wrong by their mistaken strategy, where a kind has one", () => {
    const value = (expression: string) => Number(new Function(`return ${expression}`)());
    for (const { kind, values, answer } of sample) {
      expect(String(value(kinds[kind].expression(values)))).toBe(answer);
      if (kinds[kind].wrongShare === 0) continue;
      // (a - b) * c and a - b * c meet where a is 0, and others as rarely: not in this sample.
      expect(String(value(kinds[kind].wrong(values))), `${kind} ${JSON.stringify(values)}`).not.toBe(answer);
    }
  });
});

describe("calc splits", () => {
  it("hold out an eighth of all questions, by their text alone", () => {
    const rng = new Rng(seedKey(2));
    const held = Array.from({ length: 200 }, () => drawProblem(rng, "heldOut"));
    expect(held.every(({ question }) => splitOf(question) === "heldOut")).toBe(true);
    expect(sample.every(({ question }) => splitOf(question) === "train")).toBe(true);
    const texts = Array.from({ length: 8000 }, (_, i) => splitOf(`What is ${i} + 11 - 11?`));
    const share = texts.filter((split) => split === "heldOut").length / texts.length;
    expect(Math.abs(share - 1 / 8)).toBeLessThan(0.02);
  });

  it("never share a question, whatever the seed", () => {
    const held = new Set(dataset.heldOut.map((row) => row.input.question));
    for (const seed of [0, 1, 2, 10_000]) {
      const stream = dataset.train(seed);
      for (let i = 0; i < 500; i++) expect(held.has(stream.at(i).input.question)).toBe(false);
    }
  });

  it("have 200 fixed held-out tasks, 20 of each kind", () => {
    expect(dataset.heldOut).toHaveLength(200);
    expect(new Set(dataset.heldOut.map((row) => row.id)).size).toBe(200);
    const kindCounts = new Map<unknown, number>();
    for (const { hidden } of dataset.heldOut) kindCounts.set(hidden.kind, (kindCounts.get(hidden.kind) ?? 0) + 1);
    expect([...kindCounts.values()]).toEqual(Array(10).fill(20));
    expect(dataset.heldOut[0]).toMatchInlineSnapshot(`
      {
        "hidden": {
          "answer": "86",
          "kind": "add",
        },
        "id": "calc-add-bbb9e7c80729c5ce",
        "input": {
          "question": "There are 31 eggs here and 55 eggs there. How many in all?",
        },
      }
    `);
  });
});

describe("calc streams", () => {
  it("give the same rows for the same seed, in any order of asking, and none twice", () => {
    const [first, second] = [dataset.train(7), dataset.train(7)];
    const later = second.at(300);
    const ids = Array.from({ length: 301 }, (_, i) => first.at(i).id);
    expect(first.at(300)).toEqual(later);
    expect(second.at(5).id).toBe(ids[5]);
    expect(new Set(ids).size).toBe(301);
    expect(dataset.train(8).at(0).id).not.toBe(ids[0]);
    expect(first.length).toBe(Number.POSITIVE_INFINITY);
  });

  it("never repeat a question, although drawing would", () => {
    const stream = dataset.train(1);
    const n = 12_000;
    expect(new Set(Array.from({ length: n }, (_, i) => stream.at(i).input.question)).size).toBe(n);
    expect(new Set(problems(n).map(({ question }) => question)).size).toBeLessThan(n);
  });

  it("keep the answer out of what the agent sees", () => {
    const row = dataset.train(1).at(0);
    expect(Object.keys(row.input)).toEqual(["question"]);
    expect(Object.keys(row.hidden).sort()).toEqual(["answer", "kind"]);
  });
});
