/** The team: its jobs by another reading, its agent against a stub model, the rates of its traces, its settings. */
import { describe, expect, it } from "vitest";
import {
  boxMessage,
  itemNames,
  type Job,
  planMessage,
  readAsk,
  readWorkerReply,
  resultsMessage,
  searchMessage,
} from "../../examples/team/messages.ts";
import { dataset } from "../../examples/team/tasks.ts";
import { drawTrace, type Noise, stageNoise, type Trace, traceAt } from "../../examples/team/traces.ts";
import { Rng, seedKey } from "../../src/core/rng.ts";
import { bindGrader } from "../../src/rollout/graders/registry.ts";
import type { GradeTools } from "../../src/schema/grader.ts";
import type { TaskRow } from "../../src/schema/task.ts";
import { agentFromSource, exampleConfig, preparedAgent, runExampleAgent } from "./run_example.ts";
import type { StubReplies } from "./stub_model.ts";

const stream = dataset.train(1);
const tasks = Array.from({ length: 500 }, (_, i) => stream.at(i));
const jobOf = (task: TaskRow): Job => task.input as unknown as Job;
const job: Job = {
  items: ["maps", "eggs", "books"],
  known: { maps: "69" },
  shelves: {
    eggs: [
      { label: "keys", number: "5", holds: "keys 12 nuts 57" },
      { label: "eggs", number: "7", holds: "cups 33 eggs 21" },
      { label: "pens", number: "1", holds: "pens 40 maps 69" },
    ],
    books: [{ label: "books", number: "2", holds: "books 63 nuts 57" }],
  },
};

describe("team jobs", () => {
  it("have 0 to 4 unknown items, each in the box with its label, and as many known ones as fit", () => {
    const seen = new Set<string>();
    for (const task of tasks) {
      const { items, known, shelves } = jobOf(task);
      const unknown = items.filter((item) => !(item in known));
      expect(unknown).toHaveLength(task.hidden.unknown as number);
      expect(Object.keys(shelves).sort()).toEqual([...unknown].sort());
      seen.add(`${unknown.length}/${items.length - unknown.length}`);
      const report = items.map((item) => {
        const boxes = (shelves[item] ?? []).filter(({ label }) => label === item);
        const held = boxes.map(({ holds }) => new RegExp(`${item} (\\d\\d)`).exec(holds)?.[1]);
        return `${item} ${known[item] ?? held.join()}`;
      });
      expect(`done ${report.join(" ")}`).toBe(task.hidden.report);
    }
    expect([...seen].sort()).toEqual(["0/1", "0/2", "1/0", "1/1", "1/2", "2/0", "2/1", "2/2", "3/0", "3/1", "4/0"]);
  });

  it("have shelves of three boxes with numbers and items of their own, and one value per item", () => {
    for (const task of tasks.slice(0, 200)) {
      const values = new Map<string, string>();
      for (const boxes of Object.values(jobOf(task).shelves)) {
        expect(new Set(boxes.map(({ number }) => number)).size).toBe(3);
        const held = boxes.flatMap(({ label, holds }) => {
          const pairs = [...holds.matchAll(/(\w+) (\d\d)/g)].map(([, name = "", value = ""]) => ({ name, value }));
          expect(pairs.map(({ name }) => name)).toContain(label);
          return pairs;
        });
        expect(new Set(held.map(({ name }) => name)).size).toBe(6);
        for (const { name, value } of held) {
          expect(itemNames).toContain(name);
          expect(values.get(name) ?? value).toBe(value);
          values.set(name, value);
        }
      }
    }
  });
});

describe("team messages", () => {
  it("tell the planner what is known and what to report, then what was brought", () => {
    expect(planMessage(job)).toBe("known maps 69\nreport maps eggs books");
    expect(
      resultsMessage([
        { item: "eggs", value: "21" },
        { item: "books", value: "none" },
      ]),
    ).toBe("got eggs 21\ngot books none");
  });

  it("tell a worker its shelf, then the box it opened", () => {
    expect(searchMessage(job, "eggs")).toBe("box keys 5\nbox eggs 7\nbox pens 1\nfind eggs");
    expect(searchMessage(job, "maps")).toBe("box empty\nfind maps");
    expect(boxMessage(job, "eggs", "7")).toBe("in cups 33 eggs 21\nfind eggs");
    expect(boxMessage(job, "eggs", "8")).toBe("in empty\nfind eggs");
    expect(boxMessage(job, "toString", "8")).toBe("in empty\nfind toString");
  });

  it("read replies, and nothing else", () => {
    expect(readAsk("ask eggs books")).toEqual(["eggs", "books"]);
    for (const text of [
      "ask",
      "ask stones",
      "asks eggs",
      "ask eggs ",
      "done eggs 1",
      "ask pens eggs cups coins nuts",
    ]) {
      expect(readAsk(text)).toBeNull();
    }
    expect(readWorkerReply("open eggs 7")).toEqual({ kind: "open", box: "7" });
    expect(readWorkerReply("say eggs 21")).toEqual({ kind: "say", value: "21" });
    expect(readWorkerReply("say eggs none")).toEqual({ kind: "say", value: "none" });
    for (const text of ["", "open eggs", "open eggs x", "open eggs 7 7", "tell eggs 21"]) {
      expect(readWorkerReply(text)).toBeNull();
    }
  });
});

describe.each([
  ["from its source", async () => agentFromSource("team")],
  ["prepared", () => preparedAgent("team")],
])("team agent, %s", (_, command) => {
  const run = async (replies: StubReplies) => runExampleAgent(await command(), job, replies);

  it("sends out workers in chats of their own and reports what they bring", async () => {
    const answers = new Map([
      [planMessage(job), "ask eggs books"],
      [searchMessage(job, "eggs"), "open pens 1"],
      [boxMessage(job, "eggs", "1"), "open eggs 7"],
      [boxMessage(job, "eggs", "7"), "say eggs 21"],
      [searchMessage(job, "books"), "say books none"],
    ]);
    const replies: StubReplies = ({ messages }) => ({
      content: answers.get(messages.at(-1)?.content as string) ?? "done maps 69 eggs 21 books none",
    });
    const { code, output, requests } = await run(replies);
    expect({ code, output }).toEqual({ code: 0, output: "done maps 69 eggs 21 books none\n" });
    const chats = requests.map(({ body }) => body.messages.map(({ content }) => content));
    expect(chats).toHaveLength(6);
    expect(chats[0]).toEqual([planMessage(job)]);
    expect(chats).toContainEqual([
      searchMessage(job, "eggs"),
      "open pens 1",
      boxMessage(job, "eggs", "1"),
      "open eggs 7",
      boxMessage(job, "eggs", "7"),
    ]);
    expect(chats.at(-1)).toEqual([planMessage(job), "ask eggs books", "got eggs 21\ngot books none"]);
    expect(requests.map(({ body }) => body.max_tokens).sort()).toEqual([12, 12, 12, 12, 28, 28]);
  });

  it("reports at once what the planner does not ask for, and gives a worker four calls", async () => {
    expect(await run([{ content: "done maps 69" }])).toMatchObject({ code: 0, output: "done maps 69\n" });
    const { requests, output } = await run(({ messages }) => {
      const last = messages.at(-1)?.content as string;
      if (last.startsWith("known")) return { content: "ask eggs" };
      return { content: last.startsWith("got") ? last : "open eggs 5" };
    });
    expect(requests).toHaveLength(6);
    expect(output).toBe("got eggs none\n");
  });
});

/** Traces of drawn jobs with one kind of mistake only. */
function tracesBy(noise: Partial<Noise>, n = 3000): { job: Job; trace: Trace }[] {
  const rng = new Rng(seedKey(6));
  return Array.from({ length: n }, (_, i) => {
    const task = tasks[i % tasks.length] as TaskRow;
    const trace = drawTrace(jobOf(task), task.hidden.report as string, rng, { ...stageNoise.clean, ...noise });
    return { job: jobOf(task), trace };
  });
}

/** Share of the cases that a mistake applies to, within four standard deviations of its rate. */
function expectRate<T>(cases: readonly T[], test: (one: T) => boolean, rate: number): void {
  const measured = cases.filter(test).length / cases.length;
  expect(cases.length).toBeGreaterThan(300);
  expect(Math.abs(measured - rate), `${measured} is not ${rate}`).toBeLessThanOrEqual(
    4 * Math.sqrt((rate * (1 - rate)) / cases.length),
  );
}

const unknownOf = ({ items, known }: Job): string[] => items.filter((item) => !(item in known));
const askedOf = ({ chats }: Trace): string[] => readAsk(chats[0]?.[0]?.reply ?? "") ?? [];

describe("team traces", () => {
  it("without mistakes succeed, ask for what is unknown, and open one box for each item", () => {
    for (let i = 0; i < 500; i++) {
      const { chats, succeeded } = traceAt("clean", 1, i);
      expect(succeeded).toBe(true);
      for (const worker of chats.slice(1)) {
        expect(worker.map(({ reply }) => reply.split(" ")[0])).toEqual(["open", "say"]);
      }
    }
  });

  it("with mistakes succeed in 48 of 100, in six calls", () => {
    const list = Array.from({ length: 2000 }, (_, i) => traceAt("noisy", 1, i));
    expect(Math.abs(list.filter(({ succeeded }) => succeeded).length / 2000 - 0.48)).toBeLessThan(0.04);
    expect(Math.abs(list.flatMap(({ chats }) => chats.flat()).length / 2000 - 5.9)).toBeLessThan(0.2);
    for (const worker of list.flatMap(({ chats }) => chats.slice(1))) expect(worker.length).toBeLessThanOrEqual(4);
  });

  it("make the planner's mistakes at their rates", () => {
    const some = tracesBy({ forget: 0.15 }).filter((one) => unknownOf(one.job).length > 0);
    expectRate(some, (one) => askedOf(one.trace).length === unknownOf(one.job).length - 1, 0.15);
    const known = tracesBy({ needless: 0.2 }).filter((one) => Object.keys(one.job.known).length > 0);
    expectRate(known, (one) => askedOf(one.trace).length === unknownOf(one.job).length + 1, 0.2);
    const several = tracesBy({ swap: 0.12 }).filter((one) => one.job.items.length > 1);
    // Two of ninety values are equal by chance.
    expectRate(several, (one) => !one.trace.succeeded, 0.12 * (1 - 1 / 90));
  });

  it("make the workers' mistakes at their rates", () => {
    const workers = (noise: Partial<Noise>) => tracesBy(noise).flatMap(({ trace }) => trace.chats.slice(1));
    expectRate(workers({ giveUp: 0.04 }), (turns) => turns[0]?.reply.endsWith(" none") === true, 0.04);
    const label = (reply = "") => reply.split(" ")[1];
    const isWrong = (turns: readonly { message: string; reply: string }[]) =>
      label(turns[0]?.reply) !== turns[0]?.message.split(" ").at(-1);
    expectRate(workers({ wrongBox: 0.2 }), isWrong, 0.2);
    expectRate(workers({ wrongBox: 0.2 }).filter(isWrong), (turns) => turns[1]?.reply.startsWith("say") === true, 0.4);
    const said = workers({ wrongValue: 0.15 });
    const isOwn = (turns: readonly { message: string; reply: string }[]) => {
      const [, item, value] = turns.at(-1)?.reply.split(" ") ?? [];
      return turns.at(-1)?.message.includes(`${item} ${value}`) === true;
    };
    expectRate(said, (turns) => !isOwn(turns), 0.15 * (1 - 1 / 90));
  });

  it("answer for an item that is known: there is nothing to open", () => {
    const needless = tracesBy({ needless: 1 }, 300).find((one) =>
      askedOf(one.trace).some((item) => item in one.job.known),
    );
    const item = askedOf(needless?.trace as Trace).find((name) => name in (needless?.job.known ?? {}));
    expect(needless?.trace.chats.slice(1)).toContainEqual([
      { message: `box empty\nfind ${item}`, reply: `say ${item} none` },
    ]);
  });
});

describe("team configuration", () => {
  it("has the settings it was measured with, and grades by the whole report", async () => {
    const { train, rollout } = exampleConfig("team");
    expect(train).toMatchObject({ updates: 20, tasksPerUpdate: 16, groupSize: 8, learningRate: 5e-4 });
    const grader = bindGrader(rollout.grader, rollout.graderOptions);
    const task = dataset.heldOut[4] as TaskRow;
    const grade = async (finalMessage: string) =>
      (await grader.grade({ task, finalMessage, calls: [], exitCode: 0, workspace: null }, {} as GradeTools)).value;
    expect(await grade(task.hidden.report as string)).toBe(1);
    expect(await grade(`${task.hidden.report} pens 12`)).toBe(0);
    expect(await grade((task.hidden.report as string).replace(/^done /, ""))).toBe(0);
  });
});
