// A reward that people write in the page: judged in a sandbox of its own on every runtime, and what is wrong with it is
// said by name.
import { platform } from "#platform";
import { afterAll, describe, expect, it } from "#test";
import { EditedReward } from "../../src/app/reward/edited_reward.ts";
import { memoryFiles } from "../../src/platform/memory_files.ts";
import type { Grade, GradeInput } from "../../src/schema/grader.ts";
import { inThread } from "../rollout/in_thread.ts";

const input: GradeInput = {
  task: { id: "t", input: { question: "2+2" }, hidden: { answer: "4" } },
  finalMessage: "4",
  calls: [],
  exitCode: 0,
  workspace: null,
};

const reward = new EditedReward(platform);
afterAll(() => reward.end());

async function grade(source: string, change: Partial<GradeInput> = {}): Promise<Grade> {
  const processes = { spawn: () => Promise.reject(new Error("none")) };
  const tools = { files: memoryFiles(), clock: platform.clock, logFolder: "/", processes, bounded: inThread };
  return reward.grader.grade({ ...input, ...change }, { source }, tools);
}

/** What a grade failed with. */
async function fault(source: string, change: Partial<GradeInput> = {}): Promise<{ code: string; message: string }> {
  try {
    await grade(source, change);
  } catch (thrown) {
    return thrown as { code: string; message: string };
  }
  throw new Error(`${source} was graded.`);
}

describe("an edited reward", () => {
  it("judges by message and task, with numbers or true and false, awaited or not", async () => {
    const source = "({ message, task }) => Number(message === task.hidden.answer)";
    expect(await grade(source)).toEqual({ value: 1, reason: "edited" });
    expect(await grade(source, { finalMessage: "5" })).toEqual({ value: 0, reason: "edited" });
    expect((await grade("async ({ message }) => (await message.length) / 8")).value).toBe(0.125);
    expect((await grade("({ exitCode }) => exitCode === 0")).value).toBe(1);
    expect((await grade("function reward({ task }) { return task.input.question.length } // as it is")).value).toBe(3);
    const call = { request: {}, text: "4 — \u2028 \ud55c", toolCalls: [], ok: true, httpStatus: 200 };
    expect((await grade("({ calls }) => calls[0].text.length", { calls: [call] })).value).toBe(7);
    const all = await Promise.all(
      ["a", "bb", "ccc"].map((finalMessage) => grade("(x) => x.message.length", { finalMessage })),
    );
    expect(all.map(({ value }) => value)).toEqual([1, 2, 3]);
  });

  it("reaches nothing but the language, and remembers nothing", async () => {
    const names = [
      "fetch",
      "process",
      "require",
      "Deno",
      "postMessage",
      "importScripts",
      "setTimeout",
      "location",
      "self",
    ];
    expect((await grade(`() => ${JSON.stringify(names)}.filter((name) => name in globalThis).length`)).value).toBe(0);
    const module = await fault("async () => (await import('./anything.js')).n");
    expect(module.message).toContain("the reward function threw ReferenceError");
    const made = "() => typeof (() => {}).constructor('return globalThis.process')()";
    expect((await fault(made)).message).toContain('returned "undefined"');
    const counts = "() => (globalThis.n = (globalThis.n ?? 0) + 1)";
    expect([(await grade(counts)).value, (await grade(counts)).value]).toEqual([1, 1]);
  });

  it("says what is wrong, and judges the next rollout again", async () => {
    const source = "({ message }) => { if (message === null) throw new Error('nothing said'); return message.length; }";
    const { code, message } = await fault(source, { finalMessage: null });
    expect(code).toBe("grader_failed");
    expect(message).toBe(
      'Grader "edited": the reward function threw Error: nothing said. Write one such as ({ message, task }) => Number(message === task.hidden.answer).',
    );
    expect((await grade(source)).value).toBe(1);
    expect((await fault("async () => { throw 7; }")).message).toContain("the reward function threw 7.");
    expect((await fault('() => "much"')).message).toContain('returned "much", which is no finite number.');
    expect((await fault("() => -1e308")).message).toContain(
      "returned -1e+308, which is more than 1000000000000 in size.",
    );
    expect((await fault("() => NaN")).message).toContain("which is no finite number.");
    expect((await fault("() => {}")).message).toContain("returned undefined, which is no finite number.");
    expect((await fault("() => 2n")).message).toContain("returned 2n, which is no finite number.");
    expect((await fault("() => new Promise(() => {})")).message).toContain("waits for something that never comes.");
  });

  it("is checked before a run: texts that are no function", async () => {
    await reward.check("() => 1");
    for (const source of ["7", "({ message }) => {", "nobody"]) {
      const refused = await reward.check(source).catch((thrown) => thrown as { code: string; message: string });
      expect(refused).toMatchObject({ code: "config" });
      expect((refused as { message: string }).message).toContain("the reward function cannot be used");
    }
  });

  it("is stopped when it takes too much, and the next one is judged", async () => {
    const source = "({ message }) => { if (message === 'loop') for (;;) {} return 1; }";
    const [stuck, behind] = [fault(source, { finalMessage: "loop" }), grade(source)];
    expect((await stuck).message).toContain("the reward function took longer than 2 s.");
    expect((await behind).value).toBe(1);
    expect((await fault("() => { const f = () => f() + 1; return f(); }")).message).toContain("stack overflow");
    expect((await fault("() => 'x'.repeat(2 ** 27).length")).message).toContain("out of memory");
    expect((await grade("() => 1")).value).toBe(1);
  });
});
