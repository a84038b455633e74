// Plan: what is refused is kept over what is there: reads fall through, writes and deletions hide it, later ones that are
// taken again lay it bare.
import { describe, expect, it } from "vitest";
import { type KeptValues, LessonMemory } from "../../src/app/page/lessons/lesson_memory.ts";
import { database } from "./lesson_rig.ts";

/** A database that takes what `takes` allows. */
function stubborn(takes: { set: boolean; del: boolean }): KeptValues {
  const values = database();
  const guard = (allowed: boolean, work: () => Promise<void>): Promise<void> =>
    allowed ? work() : Promise.reject(new Error("refused"));
  return {
    get: values.get,
    set: (key, value) => guard(takes.set, () => values.set(key, value)),
    del: (key) => guard(takes.del, () => values.del(key)),
  };
}

const progress = (who: string) => ({ answers: { who }, verdicts: {}, tiny: false });
const run = { metrics: [{ step: 1 }], groups: [] };

describe("LessonMemory", () => {
  it("reads what it kept before the first refusal, and what was refused since", async () => {
    const takes = { set: true, del: true };
    const memory = new LessonMemory(stubborn(takes));
    await memory.keepProgress("a", progress("model"));
    await memory.keepRun("a", "one", run);
    expect(memory.isLasting).toBe(true);
    takes.set = false;
    await memory.keepRun("a", "two", run);
    await memory.keepProgress("b", progress("harness"));
    expect(memory.isLasting).toBe(false);
    expect(await memory.read("a")).toEqual({ ...progress("model"), runs: { one: run, two: run } });
    expect((await memory.read("b"))?.answers).toEqual({ who: "harness" });
  });

  it("forgets a lesson in the browser also after a refused write, and the run that it started", async () => {
    const takes = { set: true, del: true };
    const values = stubborn(takes);
    const memory = new LessonMemory(values);
    await memory.keepRun("a", "one", run);
    await memory.keepProgress("a", progress("model"));
    await memory.keepStarted({ lesson: "a", key: "one", overrides: {}, isKept: true });
    takes.set = false;
    await memory.keepProgress("a", progress("harness"));
    await memory.forget("b");
    expect((await memory.started())?.key).toBe("one");
    await memory.forget("a");
    const reloaded = new LessonMemory(values);
    expect([await memory.read("a"), await reloaded.read("a")]).toEqual([null, null]);
    expect([await memory.started(), await reloaded.started()]).toEqual([null, null]);
  });

  it("does not show what the browser refused to delete, until something else is kept there", async () => {
    const takes = { set: true, del: false };
    const memory = new LessonMemory(stubborn(takes));
    await memory.keepProgress("a", progress("model"));
    await memory.forget("a");
    expect([await memory.read("a"), memory.isLasting]).toEqual([null, false]);
    await memory.keepProgress("a", progress("harness"));
    expect((await memory.read("a"))?.answers).toEqual({ who: "harness" });
  });
});
