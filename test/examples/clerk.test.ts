/** The clerk of the lessons: its desk, its agent against a stub model, its tasks and the habits of its traces. */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { compute, messagesFor, readUse, type Step, useText } from "../../examples/lessons/clerk/desk.ts";
import { clean, noisy, spelled } from "../../examples/lessons/clerk/sft.ts";
import { dataset, drawTrainQuestion } from "../../examples/lessons/clerk/tasks.ts";
import { shape, words } from "../../examples/lessons/clerk/tokenizer.ts";
import { stageNoise, type Trace, traceAt } from "../../examples/lessons/clerk/traces.ts";
import { splitOf } from "../../examples/toy/split_dataset.ts";
import { wordModelFiles } from "../../examples/toy/word_model.ts";
import { Rng, seedKey } from "../../src/core/rng.ts";
import { Tokenizer } from "../../src/text/tokenizer.ts";
import { agentFromSource, exampleFolder, preparedAgent, runExampleAgent } from "./run_example.ts";
import type { StubReplies } from "./stub_model.ts";

const name = "lessons/clerk";
const step = (reply: string): Step => {
  const use = readUse(reply);
  if (use === null) throw new Error(reply);
  return { reply, use, result: compute(use) };
};

describe("the desk", () => {
  it("reads uses of the machine, and nothing else", () => {
    expect(readUse("use 12 plus 30")).toEqual({ left: "12", operator: "plus", right: "30" });
    for (const text of [
      "",
      "use 12 plus",
      "use 123 plus 4",
      "use 1 times 2",
      " use 1 plus 2",
      "use 1 plus 2 ",
      "answer 3",
    ]) {
      expect(readUse(text)).toBeNull();
    }
  });

  it.each([
    ["use 12 plus 30", "42"],
    ["use 50 plus 49", "99"],
    ["use 50 plus 50", "error"],
    ["use 7 minus 7", "0"],
    ["use 7 minus 8", "error"],
  ])("%s gives %s", (reply, result) => expect(step(reply).result).toBe(result));

  it("shows what happened as a chat, as a log in the harness's words, or as notes", () => {
    const steps = [step("use 12 plus 30")];
    const user = (content: string) => ({ role: "user", content });
    const assistant = (content: string) => ({ role: "assistant", content });
    const question = "sum of 12 and 30";
    expect(messagesFor(question, [], "log")).toEqual([user(question)]);
    expect(messagesFor(question, steps, "chat")).toEqual([
      user(question),
      assistant("use 12 plus 30"),
      user("result 42"),
    ]);
    expect(messagesFor(question, steps, "log")).toEqual([
      user(question),
      assistant("used 12 plus 30"),
      user("result 42"),
    ]);
    expect(messagesFor(question, steps, "notes")).toEqual([user(`${question}\nresult 42`)]);
  });
});

describe.each([
  ["from its source", async () => agentFromSource(name)],
  ["prepared", () => preparedAgent(name)],
])("clerk agent, %s", (_, command) => {
  const run = async (args: readonly string[], replies: StubReplies, env: Record<string, string> = {}) => {
    const agent = await command();
    // What a run puts in the place of the configuration's placeholder comes with the arguments.
    const [program = "", ...before] = agent.command.filter((part) => !part.startsWith("{"));
    return runExampleAgent(
      { ...agent, command: [program, ...before, ...args], env: { ...agent.env, ...env } },
      null,
      replies,
    );
  };

  it("works the machine until another reply, and prints that", async () => {
    const replies = ["use 12 plus 30", "answer 42"].map((content) => ({ content }));
    const { code, output, requests } = await run(["sum of 12 and 30"], replies);
    expect({ code, output }).toEqual({ code: 0, output: "answer 42\n" });
    expect(requests.map(({ body }) => body.messages)).toEqual([
      messagesFor("sum of 12 and 30", [], "chat"),
      messagesFor("sum of 12 and 30", [step("use 12 plus 30")], "chat"),
    ]);
    expect(requests[0]?.body).toMatchObject({ max_tokens: 16 });
  });

  it("remembers as CLERK_MEMORY says, and gives up after four calls", async () => {
    const { output, requests } = await run(["double 4"], [{ content: "use 4 plus 4" }], { CLERK_MEMORY: "notes" });
    expect(output).toBe("no answer in 4 calls\n");
    expect(requests).toHaveLength(4);
    expect(requests.at(-1)?.body.messages).toEqual([
      { role: "user", content: "double 4\nresult 8\nresult 8\nresult 8" },
    ]);
  });

  it("sends out as many clerks as CLERK_COUNT says, and wants a question", async () => {
    const alone = await run(["double 4", "double 5"], [{ content: "answer 9" }]);
    expect(alone.output).toBe("answer 9\n");
    const { output, requests } = await run(["double 4", "double 5"], [{ content: "answer 9" }], { CLERK_COUNT: "2" });
    expect(output).toBe("answer 9\nanswer 9\n");
    expect(requests.map(({ body }) => (body.messages as { content: string }[])[0]?.content).sort()).toEqual([
      "double 4",
      "double 5",
    ]);
    expect(await run([], [])).toMatchObject({ code: 2, output: expect.stringContaining("usage: node agent.ts") });
  });
});

/** What a question asks for, by another reading. */
function solve(question: string): string {
  const numbers = [...question.matchAll(/\d+/g)].map(Number) as [number, number];
  if (question.startsWith("sum")) return String(numbers[0] + numbers[1]);
  if (question.startsWith("double")) return String(2 * numbers[0]);
  return String(question.startsWith("from") ? numbers[0] - numbers[1] : numbers[1] - numbers[0]);
}

describe("clerk tasks", () => {
  const tasks = [...dataset.heldOut, ...Array.from({ length: 200 }, (_, i) => dataset.train(3).at(i))];

  it("have right answers from 0 to 99, and both questions of one split", () => {
    for (const [i, { input, hidden }] of tasks.entries()) {
      expect(hidden.answer).toBe(solve(String(input.question)));
      expect(hidden.secondAnswer).toBe(solve(String(input.second)));
      const split = i < dataset.heldOut.length ? "heldOut" : "train";
      for (const question of [input.question, input.second]) expect(splitOf({ question })).toBe(split);
    }
  });

  it("ask nothing in supervised training that is held out", () => {
    const rng = new Rng(seedKey(9));
    for (let i = 0; i < 300; i++) expect(splitOf({ question: drawTrainQuestion(rng).text })).toBe("train");
  });
});

describe("clerk traces", () => {
  const traces = (stage: "clean" | "noisy"): Trace[] => Array.from({ length: 2000 }, (_, i) => traceAt(stage, 1, i));
  const isRight = ({ question, final }: Trace): boolean => final === `answer ${compute(question.right)}`;
  const rate = (list: Trace[], holds: (trace: Trace) => boolean): number => list.filter(holds).length / list.length;

  it("are faultless in the clean stage", () => {
    for (const trace of traces("clean")) {
      expect(isRight(trace)).toBe(true);
      expect(trace.steps.map(({ reply }) => reply)).toEqual([useText(trace.question.right)]);
    }
  });

  it("have their habits in the noisy stage, at their rates", () => {
    const list = traces("noisy");
    expect(rate(list, isRight)).toBeGreaterThan(0.45);
    expect(rate(list, isRight)).toBeLessThan(0.56);
    expect(Math.abs(rate(list, ({ steps }) => steps.length === 0) - stageNoise.noisy.ramble)).toBeLessThan(0.03);
    for (const { steps, final } of list) {
      expect(steps.length).toBeLessThanOrEqual(3);
      expect(readUse(final)).toBeNull();
    }
  });
});

describe("clerk model folder", () => {
  const files = wordModelFiles(words, shape);
  const parse = (file: string) => JSON.parse(files[file] as string);
  const tokenizer = Tokenizer.load({
    name: "clerk",
    tokenizer: parse("tokenizer.json"),
    tokenizerConfig: parse("tokenizer_config.json"),
    specialTokensMap: null,
    generationConfig: null,
    modelConfig: parse("config.json"),
    chatTemplates: {},
  });
  const encode = (text: string) => tokenizer.encode(text);

  it("is what the example's program writes", () => {
    for (const [file, text] of Object.entries(files)) {
      expect(readFileSync(`${exampleFolder(name)}model/${file}`, "utf8"), file).toBe(text);
    }
  });

  it("spells numbers of two digits in two ways that read alike", () => {
    expect(encode(" 42")).toHaveLength(1);
    const rng = new Rng(seedKey(1));
    const ids = Array.from({ length: 40 }, () =>
      spelled("use 42 plus 3", rng, 0.5).flatMap(({ text }) => encode(text)),
    );
    expect(new Set(ids.map((row) => row.length))).toEqual(new Set([5, 6]));
    expect(new Set(ids.map((row) => tokenizer.decode(row)))).toEqual(new Set(["use 42 plus 3<|im_end|>"]));
    expect(spelled("answer 42 17", rng, 0).map(({ text }) => text)).toEqual(["answer 42 17", "<|im_end|>"]);
  });

  it("reads and writes every text of a trace without an unknown word", () => {
    const unknown = tokenizer.idOf("[unk]");
    for (const rows of [clean({ encode, seed: 5 }), noisy({ encode, seed: 5 })]) {
      expect(rows.size).toBeGreaterThan(12_000);
      for (let i = 0; i < 100; i++) {
        const { ids, mask } = rows.example(i);
        expect(ids.length).toBe(mask.length);
        expect([...ids]).not.toContain(unknown);
        expect(mask.at(-1)).toBe(1);
      }
    }
  });
});
