/** The vault: its rooms by another reading, its agent against a stub model, the rates of its traces, its settings. */
import { describe, expect, it } from "vitest";
import { maxCalls, messageFor, openRoom, readAction, type Vault } from "../../examples/vault/rooms.ts";
import { colours, dataset } from "../../examples/vault/tasks.ts";
import { expertReply, mistakenReply, type Walk, walkAt } from "../../examples/vault/traces.ts";
import { Rng, seedKey } from "../../src/core/rng.ts";
import { ownClipRange } from "../../src/experiment/objective.ts";
import { bindGrader } from "../../src/rollout/graders/registry.ts";
import type { GradeTools } from "../../src/schema/grader.ts";
import type { TaskRow } from "../../src/schema/task.ts";
import { agentFromSource, exampleConfig, preparedAgent, runExampleAgent } from "./run_example.ts";
import type { StubReplies } from "./stub_model.ts";

const vaultOf = (task: TaskRow): Vault => task.input as unknown as Vault;
const tasks = Array.from({ length: 400 }, (_, i) => dataset.train(1).at(i % 400));
const vault: Vault = {
  start: "17",
  colour: "red",
  rooms: { 17: "blue 30 red 25", 25: "red 40 blue 17", 40: "code 88", 30: "empty" },
};

/** Follows the colour by the rooms' texts: the answer, and how many hops it took. */
function follow({ start, colour, rooms }: Vault): { answer: string; hops: number } {
  let room = start;
  for (let hops = 0; ; hops++) {
    const words = (rooms[room] as string).split(" ");
    if (words[0] === "code") return { answer: `answer ${words[1]}`, hops };
    room = words[words.indexOf(colour) + 1] as string;
  }
}

describe("vault tasks", () => {
  it("have the code at the end of the chain, after as many hops as they say", () => {
    const hops = new Map<number, number>();
    for (const task of tasks) {
      expect({ ...follow(vaultOf(task)) }).toEqual({ answer: task.hidden.answer, hops: task.hidden.hops });
      hops.set(task.hidden.hops as number, (hops.get(task.hidden.hops as number) ?? 0) + 1);
    }
    expect([...hops.keys()].sort()).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
  });

  it("have forty rooms with two-digit names, two colours, and nothing astray that leads into the chain but its start", () => {
    for (const task of tasks.slice(0, 100)) {
      const { rooms, start, colour } = vaultOf(task);
      expect(Object.keys(rooms)).toHaveLength(40);
      const chain = new Set([start]);
      for (let room = start; !rooms[room]?.startsWith("code"); ) {
        const words = (rooms[room] as string).split(" ");
        room = words[words.indexOf(colour) + 1] as string;
        chain.add(room);
      }
      const seen = new Set<string>();
      for (const [room, text] of Object.entries(rooms)) {
        expect(room).toMatch(/^[1-9]\d$/);
        const pairs = [...text.matchAll(/([a-z]+) (\d\d)/g)].map(([, word = "", to = ""]) => ({ word, to }));
        if (text !== "empty" && !text.startsWith("code")) {
          expect(pairs).toHaveLength(2);
          for (const { word } of pairs) seen.add(word);
        }
        if (!chain.has(room)) for (const { to } of pairs) expect(!chain.has(to) || to === start).toBe(true);
      }
      expect(seen.size).toBe(2);
      for (const word of seen) expect(colours).toContain(word);
    }
  });
});

describe("vault rooms", () => {
  it("read actions, and nothing else", () => {
    expect(readAction("open 57")).toEqual({ kind: "open", room: "57" });
    expect(readAction("go red 8")).toEqual({ kind: "open", room: "8" });
    expect(readAction("answer 42")).toEqual({ kind: "answer", code: "42" });
    for (const text of ["", "open", "open 123", "go 12", "answer", "answer x", " open 12", "open 12 ", "notes"]) {
      expect(readAction(text)).toBeNull();
    }
    expect(openRoom(vault, "toString")).toEqual({ room: "toString", text: "empty" });
  });

  it("show the last two notes and then the goal", () => {
    expect(messageFor(vault, [])).toBe("notes\nfollow red from 17");
    const notes = ["17", "25", "99"].map((room) => openRoom(vault, room));
    expect(messageFor(vault, notes)).toBe("notes\n25 has red 40 blue 17\n99 has empty\nfollow red from 17");
  });
});

describe.each([
  ["from its source", async () => agentFromSource("vault")],
  ["prepared", () => preparedAgent("vault")],
])("vault agent, %s", (_, command) => {
  const run = async (replies: StubReplies) => runExampleAgent(await command(), vault, replies);

  it("notes what it finds, each call a chat of its own, and ends with the answer", async () => {
    const replies = ["open 17", "go red 25", "go red 40", "answer 88"].map((content) => ({ content }));
    const { code, output, requests } = await run(replies);
    expect({ code, output }).toEqual({ code: 0, output: "answer 88\n" });
    expect(requests.map(({ body }) => body.messages)).toEqual(
      [[], ["17"], ["17", "25"], ["17", "25", "40"]].map((rooms) => [
        {
          role: "user",
          content: messageFor(
            vault,
            rooms.map((room) => openRoom(vault, room)),
          ),
        },
      ]),
    );
    expect(requests[0]?.body).toMatchObject({ max_tokens: 16 });
  });

  it("ends at a reply that is no action, and after 24 calls", async () => {
    expect(await run([{ content: "notes" }])).toMatchObject({ code: 0, output: "notes\n" });
    const lost = await run([{ content: "open 30" }]);
    expect(lost).toMatchObject({ code: 0, output: "I found no code in 24 calls.\n" });
    expect(lost.requests).toHaveLength(maxCalls);
  });
});

/** Within four standard deviations of a rate. */
function expectRate(measured: number, rate: number, n: number): void {
  expect(Math.abs(measured - rate), `${measured} is not ${rate}`).toBeLessThanOrEqual(
    4 * Math.sqrt((rate * (1 - rate)) / n),
  );
}

describe("vault walks", () => {
  const walks = (stage: "clean" | "noisy", n: number): Walk[] =>
    Array.from({ length: n }, (_, i) => walkAt(stage, 1, i));

  it("do in the clean stage what is right, after steps that stray", () => {
    const steps = walks("clean", 500).flatMap((walk) => walk.steps.map((step) => ({ ...step, vault: walk.vault })));
    for (const step of steps) expect(step.reply).toBe(expertReply(step.vault, step.notes));
    const strayed = steps.filter(({ reply, done }) => reply !== done).length / steps.length;
    // A mistake may happen to be right, such as opening the start at the start.
    expect(strayed).toBeGreaterThan(0.2);
    expect(strayed).toBeLessThan(0.3);
  });

  it("teach in the noisy stage what was done, one call in a hundred being no action", () => {
    const list = walks("noisy", 2000);
    const steps = list.flatMap((walk) => walk.steps);
    expect(steps.every(({ reply, done }) => reply === done)).toBe(true);
    expectRate(steps.filter(({ done }) => readAction(done) === null).length / steps.length, 0.01, steps.length);
    const found = list.filter((walk) => walk.found).length / list.length;
    expect(Math.abs(found - 0.58)).toBeLessThan(0.04);
    for (const { steps: taken } of list) expect(taken.length).toBeLessThanOrEqual(maxCalls);
  });

  it("make each mistake at its rate", () => {
    const rng = new Rng(seedKey(4));
    const notes = [openRoom(vault, "17")];
    const n = 8000;
    const drawn = Array.from({ length: n }, () => mistakenReply(vault, notes, rng));
    const share = (test: (reply: string) => boolean) => drawn.filter(test).length / n;
    expectRate(
      share((reply) => reply === "go blue 30"),
      0.45,
      n,
    );
    expectRate(
      share((reply) => reply.startsWith("answer")),
      0.05,
      n,
    );
    // The same room again is the start here: .35 + .10, and one in ninety of the .05 for any room.
    expectRate(
      share((reply) => reply === "open 17"),
      0.45 + 0.05 / 90,
      n,
    );
    const first = Array.from({ length: n }, () => mistakenReply(vault, [], rng));
    expectRate(first.filter((reply) => reply === "open 17").length / n, 0.9 + 0.1 / 90, n);
  });

  it("are the same for the same stage, seed and number", () => {
    expect(walkAt("noisy", 4, 9)).toEqual(walkAt("noisy", 4, 9));
    expect(walkAt("noisy", 4, 9)).not.toEqual(walkAt("noisy", 5, 9));
  });
});

describe("vault configuration", () => {
  it("has the settings it was measured with, and grades by the code", async () => {
    const { train, rollout } = exampleConfig("vault");
    expect(train).toMatchObject({
      updates: 10,
      tasksPerUpdate: 8,
      groupSize: 8,
      learningRate: 5e-4,
      advantage: "grpo",
    });
    expect(train).toMatchObject({ normalisation: "rollout", loss: "ppo", clipLow: "auto", clipHigh: "auto" });
    expect(train).toMatchObject({ dualClip: 3, klCoef: 0 });
    expect(ownClipRange(train.loss)).toEqual({ clipLow: 0.2, clipHigh: 0.28 });
    const grader = bindGrader(rollout.grader, rollout.graderOptions);
    const task = dataset.heldOut[0] as TaskRow;
    const grade = async (finalMessage: string) =>
      (await grader.grade({ task, finalMessage, calls: [], exitCode: 0, workspace: null }, {} as GradeTools)).value;
    expect(await grade(task.hidden.answer as string)).toBe(1);
    expect(await grade(`${task.hidden.answer}1`)).toBe(0);
    expect(await grade((task.hidden.answer as string).replace("answer", "code"))).toBe(0);
  });
});
