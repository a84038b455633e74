import { describe, expect, it } from "vitest";
import { bindGrader, graders } from "../../src/rollout/graders/registry.ts";
import type { Grade, Grader, GradeTools } from "../../src/schema/grader.ts";
import { numericOptionsSchema } from "../../src/schema/grader.ts";
import { inThread } from "./in_thread.ts";

/** Pure graders touch no tools. */
const noTools = { bounded: inThread } as GradeTools;

function judge(name: string, options: object, hidden: Record<string, unknown>, message: string | null): Promise<Grade> {
  const task = { id: "t1", input: {}, hidden };
  const input = { task, finalMessage: message, calls: [], exitCode: 0, workspace: null };
  return bindGrader(name, options).grade(input, noTools);
}

describe("exact", () => {
  it.each([
    ["Paris", "Paris", {}, 1, "match"],
    ["  Paris\n", "Paris", {}, 1, "match"],
    ["paris", "Paris", {}, 0, "mismatch"],
    ["paris", "Paris", { ignoreCase: true }, 1, "match"],
    ["cafe\u0301", "caf\u00e9", {}, 1, "match"],
    ["x ### ANSWER: 7 ### y ### ANSWER: 8 ###", "8", { pattern: "### ANSWER: (.+?) ###" }, 1, "match"],
    ["no answer here", "8", { pattern: "### ANSWER: (.+?) ###" }, 0, "no_answer"],
    [null, "8", {}, 0, "no_answer"],
  ])("%j against %j with %j is %d", async (message, answer, options, value, reason) => {
    expect(await judge("exact", options, { answer }, message)).toEqual({ value, reason });
  });

  it("refuses a broken pattern", async () => {
    await expect(judge("exact", { pattern: "(" }, { answer: "1" }, "1")).rejects.toThrow(
      'Grader "exact": pattern "(" is no regular expression. Fix it.',
    );
  });
});

describe("numeric", () => {
  it.each([
    ["The answer is 273.", "273", {}, 1, "match"],
    ["The answer is -5.", "-5", {}, 1, "match"],
    ["The answer is 3.5", "3.5", {}, 1, "match"],
    ["The answer is 273.0", "273", {}, 0, "mismatch"],
    ["The answer is 274.", "273", {}, 0, "mismatch"],
    ["273", 273, {}, 1, "match"],
    ["Either 273 or 274.", "273", {}, 0, "several_numbers"],
    ["273 = 273", "273", {}, 0, "several_numbers"],
    ["I do not know.", "273", {}, 0, "no_number"],
    ["", "273", {}, 0, "no_number"],
    [null, "273", {}, 0, "no_number"],
    ["It is 273.0", "273", { tolerance: 0 }, 1, "match"],
    ["It is 3.14", "3.14159", { tolerance: 0.01 }, 1, "match"],
    ["It is 3.1", "3.14159", { tolerance: 0.01 }, 0, "mismatch"],
  ])("%j against %j with %j is %d", async (message, answer, options, value, reason) => {
    expect(await judge("numeric", options, { answer }, message)).toEqual({ value, reason });
  });

  it("refuses a task without its truth, or with one that is no number", async () => {
    await expect(judge("numeric", {}, {}, "1")).rejects.toThrow(
      'Grader "numeric": task t1 has no hidden field "answer". Set graderOptions.field.',
    );
    await expect(judge("numeric", {}, { answer: [1] }, "1")).rejects.toThrow(
      'hidden field "answer" of task t1 is [1], no text or number.',
    );
    await expect(judge("numeric", { tolerance: 1 }, { answer: "many" }, "1")).rejects.toThrow('the truth "many"');
  });
});

describe("json", () => {
  const answer = { name: "Ann", tags: ["a", { n: 1 }], none: null };
  it.each([
    ['{"none":null,"tags":["a",{"n":1}],"name":"Ann"}', {}, 1, "match"],
    ['Here:\n```json\n{"name":"Ann","tags":["a",{"n":1.0}],"none":null}\n```\nDone.', {}, 1, "match"],
    ['{"name":"Ann","tags":["a",{"n":1}],"none":null,"more":1}', {}, 0, "mismatch"],
    ['{"name":"Ann","tags":["a",{"n":1,"m":2}],"none":null,"more":1}', { match: "subset" }, 1, "match"],
    ['{"name":"Ann","tags":["a"],"none":null}', { match: "subset" }, 0, "mismatch"],
    ['{"name":"Ann","tags":["a",{"n":1}]}', { match: "subset" }, 0, "mismatch"],
    ['{"name":"Ann","tags":{"0":"a","1":{"n":1}},"none":null}', {}, 0, "mismatch"],
    ["no JSON", {}, 0, "no_json"],
    [null, {}, 0, "no_json"],
  ])("%j with %j is %d", async (message, options, value, reason) => {
    expect(await judge("json", options, { answer }, message)).toEqual({ value, reason });
  });

  it("reads the last of several blocks, and a message of nothing but line ends in no time", async () => {
    const several = "```json\n1\n```\nor\n  ``` \r\n2\r\n  ```\n";
    expect((await judge("json", {}, { answer: 2 }, several)).value).toBe(1);
    const started = performance.now();
    expect((await judge("json", {}, { answer }, `\`\`\`${"\n".repeat(100_000)}`)).reason).toBe("no_json");
    expect(performance.now() - started).toBeLessThan(2_000);
  });

  it("compares plain values too", async () => {
    expect((await judge("json", {}, { answer: null }, "null")).value).toBe(1);
    expect((await judge("json", {}, { answer: 1 }, '"1"')).value).toBe(0);
    expect((await judge("json", {}, { answer: {} }, '{"__proto__":1}')).value).toBe(0);
  });
});

describe("registry", () => {
  it("holds every grader once", () => {
    expect(graders.map((grader) => grader.name)).toEqual(["exact", "numeric", "json", "expression", "unit_tests"]);
  });

  it("names the graders it has", () => {
    expect(() => bindGrader("numric", {})).toThrow('There is no grader "numric".');
    expect.assertions(2);
    try {
      bindGrader("numric", {});
    } catch (thrown) {
      expect((thrown as { do: string }).do).toBe("Use one of: exact, numeric, json, expression, unit_tests.");
    }
  });

  it("refuses wrong options by name", () => {
    expect(() => bindGrader("numeric", { tolerance: -1 })).toThrow('Options of grader "numeric" are wrong: tolerance:');
    expect(() => bindGrader("numeric", { tolerence: 1 })).toThrow("tolerence");
    expect(() => bindGrader("unit_tests", { command: ["true"], pristine: "x" })).toThrow(
      "pristine and submit go together",
    );
  });

  it("takes an experiment's own grader, before ours of the same name", async () => {
    const own: Grader<unknown> = {
      name: "numeric",
      optionsSchema: numericOptionsSchema,
      grade: () => ({ value: 0.5, reason: "own" }),
    };
    const input = {
      task: { id: "t", input: {}, hidden: {} },
      finalMessage: "",
      calls: [],
      exitCode: 0,
      workspace: null,
    };
    expect(await bindGrader("numeric", {}, [own]).grade(input, noTools)).toEqual({ value: 0.5, reason: "own" });
  });
});
