// A reward that people write in the page: it runs in a worker of its own, and what is wrong with it is said by name.
import { afterEach, describe, expect, it } from "vitest";
import { EditedReward } from "../../src/app/tab/edited_reward.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { memoryFiles } from "../../src/platform/memory_files.ts";
import type { Grade, GradeInput } from "../../src/schema/grader.ts";

const input: GradeInput = {
  task: { id: "t", input: { question: "2+2" }, hidden: { answer: "4" } },
  finalMessage: "4",
  calls: [],
  exitCode: 0,
  workspace: null,
};

let reward = new EditedReward(systemClock);
afterEach(() => {
  reward.end();
  reward = new EditedReward(systemClock);
});

async function grade(source: string, change: Partial<GradeInput> = {}): Promise<Grade> {
  const processes = { spawn: () => Promise.reject(new Error("none")) };
  const tools = { files: memoryFiles(), clock: systemClock, logFolder: "/", processes };
  return reward.grader.grade({ ...input, ...change }, { source }, tools);
}

describe("an edited reward", () => {
  it("judges by message and task, with numbers or true and false, awaited or not", async () => {
    const source = "({ message, task }) => Number(message === task.hidden.answer)";
    expect(await grade(source)).toEqual({ value: 1, reason: "edited" });
    expect(await grade(source, { finalMessage: "5" })).toEqual({ value: 0, reason: "edited" });
    expect((await grade("async ({ message }) => message.length / 8")).value).toBe(0.125);
    expect((await grade("({ exitCode }) => exitCode === 0")).value).toBe(1);
    const all = await Promise.all(
      ["a", "bb", "ccc"].map((finalMessage) => grade("(x) => x.message.length", { finalMessage })),
    );
    expect(all.map(({ value }) => value)).toEqual([1, 2, 3]);
  });

  it("says what is wrong, and judges the next rollout again", async () => {
    const source = "({ message }) => { if (message === null) throw new Error('nothing said'); return message.length; }";
    await expect(grade(source, { finalMessage: null })).rejects.toMatchObject({ code: "grader_failed" });
    await expect(grade(source, { finalMessage: null })).rejects.toThrow(
      "the reward function threw Error: nothing said.",
    );
    expect((await grade(source)).value).toBe(1);
    await expect(grade('() => "much"')).rejects.toThrow('returned "much", which is no finite number.');
    await expect(grade("() => NaN")).rejects.toThrow("which is no finite number.");
  });

  it("is checked before a run: texts that are no function", async () => {
    await reward.check("() => 1");
    for (const source of ["7", "({ message }) => {"]) {
      await expect(reward.check(source)).rejects.toMatchObject({
        code: "config",
        message: expect.stringContaining("the reward function cannot be used"),
      });
    }
  });

  it("is given up when it takes too long, and nobody waits behind it", async () => {
    const source = "({ message }) => { if (message === 'loop') for (;;) {} return 1; }";
    const [stuck, behind] = [grade(source, { finalMessage: "loop" }), grade(source)];
    await expect(stuck).rejects.toThrow("the reward function took longer than 2 s.");
    await expect(behind).rejects.toThrow("took longer");
    expect((await grade(source)).value).toBe(1);
  });
});
