// Plan: before any run; a reload before, in and after a run; a run that went with the page; a run of somebody else's, and
// of another lesson; a browser that keeps nothing; starting over.
import { describe, expect, it } from "vitest";
import { lessons } from "../../examples/lessons/lessons.ts";
import { LessonMemory } from "../../src/app/page/lessons/lesson_memory.ts";
import { freshLesson, LessonSession } from "../../src/app/page/lessons/lesson_session.ts";
import { idleRun } from "../../src/schema/run_control.ts";
import { choice, configOf, database, edit, experiment, FakeGateway, lesson, openLesson } from "./lesson_rig.ts";

const activeKey = (session: LessonSession) => () => session.view().active?.key ?? null;

describe("a lesson", () => {
  it.each(lessons)("has nothing to complain of before anything was run: $lesson.id", async ({ lesson: published }) => {
    const session = new LessonSession(published, new FakeGateway().ask, new LessonMemory(database()));
    await session.look();
    expect(session.view()).toEqual({ ...freshLesson, isRestored: true });
  });

  it("starts nothing, and complains of nothing, where a gateway has no run and nothing to start", async () => {
    const gateway = new FakeGateway();
    gateway.choices = [];
    const session = new LessonSession(lesson, gateway.ask, new LessonMemory(database()));
    await session.look();
    expect(session.view()).toEqual({ ...freshLesson, isRestored: true, canStart: false });
  });

  it("says what a gateway refuses in its own words, without their wrapping", async () => {
    const refuses = async () => Response.json({ detail: "Invalid or missing API key" }, { status: 401 });
    const session = new LessonSession(lesson, refuses, new LessonMemory(database()));
    await session.look();
    expect(session.view().fault).toEqual({ code: "401", message: "Invalid or missing API key", do: "", key: "" });
  });

  it("is after a reload where it was: answers, verdicts, results, size, and what the studio shows", async () => {
    const [gateway, values] = [new FakeGateway(), database()];
    const first = openLesson(gateway, values);
    await expect.poll(() => first.view().isRestored).toBe(true);
    await first.setTiny(true);
    const ran = first.run(experiment);
    await expect.poll(() => gateway.status.phase).toBe("running");
    expect(gateway.status.updates).toBe(2);
    gateway.put("finished", { update: 2 });
    await ran;
    await first.answer(choice, "model");
    await first.answer(choice, "harness");
    const second = openLesson(gateway, values);
    await expect.poll(() => second.view().latest).toBe("run");
    expect(second.view()).toEqual(first.view());
    expect(second.view()).toMatchObject({
      runs: { run: { metrics: [{ step: 1 }, { step: 2 }], groups: [] } },
      answers: { who: "harness" },
      verdicts: { who: { ok: true, feedback: "whoRight" } },
      tiny: true,
      isLasting: true,
      active: null,
      fault: null,
    });
    expect(gateway.asked).toEqual(["start"]);
  });

  it("follows a run that the reload cut off, from its going on to its end, and judges what was edited", async () => {
    const [gateway, values] = [new FakeGateway(), database()];
    const first = openLesson(gateway, values);
    await expect.poll(() => first.view().isRestored).toBe(true);
    void first.answer(edit, "0.002");
    await expect.poll(() => gateway.status.phase).toBe("running");
    gateway.reload({ phase: "stopped", update: 1 });
    const second = openLesson(gateway, values);
    await expect.poll(activeKey(second)).toBe("faster");
    expect(second.view().answers).toEqual({ faster: "0.002" });
    gateway.hasStore = false;
    gateway.tire();
    await new Promise((resolve) => setTimeout(resolve, 100));
    gateway.put("opening");
    await new Promise((resolve) => setTimeout(resolve, 400));
    expect(second.view()).toMatchObject({ active: { key: "faster" }, fault: null });
    gateway.hasStore = true;
    gateway.put("running", { update: 2 });
    await expect.poll(() => second.view().active).toMatchObject({ update: 2, updates: 3, lines: [{}, {}] });
    gateway.put("finished", { update: 3 });
    await expect.poll(activeKey(second)).toBe(null);
    await expect.poll(() => second.view().verdicts.faster?.ok).toBe(true);
    expect(second.view()).toMatchObject({ latest: "faster", fault: null });
    expect(second.view().runs.faster?.metrics).toHaveLength(3);
    expect(gateway.asked).toEqual(["start"]);
  });

  it.each([
    ["is not gone on with", { phase: "stopped" as const }],
    ["went with the page, as from a disk", idleRun],
    ["was replaced by another", { phase: "finished" as const, experiment: "calc" }],
    ["ended, and its model was let go", { phase: "finished" as const, update: 3 }],
  ])("says that a run is lost which %s, and is free for the next", async (_, left) => {
    const [gateway, values] = [new FakeGateway(), database()];
    const first = openLesson(gateway, values);
    await expect.poll(() => first.view().isRestored).toBe(true);
    void first.run(experiment);
    await expect.poll(() => gateway.status.phase).toBe("running");
    gateway.reload(left);
    gateway.hasModel = false;
    const second = openLesson(gateway, values);
    await expect
      .poll(() => {
        gateway.tire();
        return second.view().fault?.code;
      })
      .toBe("lesson_run_lost");
    await expect.poll(activeKey(second)).toBe(null);
    expect(second.view()).toMatchObject({ latest: null, fault: { key: "run", do: "Run it again." } });
    expect(second.view().runs).toEqual({});
    // It is said once.
    const third = openLesson(gateway, values);
    await expect.poll(() => third.view().isRestored).toBe(true);
    expect(third.view().fault).toBeNull();
    gateway.hasModel = true;
    const ran = third.run(experiment);
    await expect.poll(() => gateway.asked).toEqual(["start", "start"]);
    gateway.put("finished", { update: 3 });
    await ran;
    expect(third.view()).toMatchObject({ latest: "run", fault: null });
  });

  it("is closed while a run of somebody else is at work or waits, and can stop it", async () => {
    const gateway = new FakeGateway();
    gateway.status = { ...idleRun, phase: "running", experiment: "calc", update: 1, updates: 12 };
    const session = openLesson(gateway, database());
    const other = () => session.view().other;
    await expect.poll(other).toEqual({ phase: "running", update: 1, updates: 12 });
    gateway.put("paused", { update: 2 });
    await expect.poll(other).toEqual({ phase: "paused", update: 2, updates: 12 });
    await session.run(experiment);
    await session.startOver();
    expect(gateway.asked).toEqual([]);
    await session.stop();
    await expect.poll(other).toBeNull();
    expect(session.view()).toMatchObject({ active: null, fault: null });
    expect(session.view().runs).toEqual({});
    expect(gateway.asked).toEqual(["stop"]);
  });

  it("does not take another lesson's run for its own", async () => {
    const [gateway, values] = [new FakeGateway(), database()];
    const first = openLesson(gateway, values);
    await expect.poll(() => first.view().isRestored).toBe(true);
    void first.run(experiment);
    await expect.poll(() => gateway.status.phase).toBe("running");
    const second = openLesson(gateway, values, { ...lesson, id: "02-tokens" });
    await expect.poll(() => second.view().other?.phase).toBe("running");
    expect(second.view().active).toBeNull();
    gateway.put("finished", { update: 3 });
    await expect.poll(() => second.view().other).toBeNull();
    expect(second.view().runs).toEqual({});
    expect(second.view().latest).toBeNull();
  });

  it("is not given the record of a run that began elsewhere between two looks at its own", async () => {
    const [gateway, values] = [new FakeGateway(), database()];
    const session = openLesson(gateway, values);
    await expect.poll(() => session.view().isRestored).toBe(true);
    const ran = session.answer(edit, "0.002");
    await expect.poll(() => gateway.status.phase).toBe("running");
    await expect.poll(() => session.view().active?.updates).toBe(3);
    // Stopped there, and another one started at once: the page hears of both together.
    gateway.put("running", { config: configOf({ "train.learningRate": 0.003 }), update: 1 });
    await ran;
    expect(session.view()).toMatchObject({ latest: null, fault: { code: "lesson_run_lost", key: "faster" } });
    expect(session.view().runs).toEqual({});
    expect(session.view().verdicts.faster).toBeUndefined();
    await expect.poll(() => session.view().other?.phase).toBe("running");
    gateway.put("finished", { update: 3 });
    await expect.poll(() => session.view().other).toBeNull();
    expect(session.view().runs).toEqual({});
  });

  it("is not given the record of a run that began elsewhere while its own was being read", async () => {
    const gateway = new FakeGateway();
    const ask = gateway.ask;
    const other = { experiment: "calc", update: 1, updates: 12 };
    const replaced: FakeGateway["ask"] = async (path, init) => {
      if (path.startsWith("/lesson/api/groups")) gateway.put("running", other);
      return await ask(path, init);
    };
    const session = new LessonSession(lesson, replaced, new LessonMemory(database()));
    await session.look();
    const ran = session.run(experiment);
    await expect.poll(() => gateway.status.phase).toBe("running");
    gateway.put("finished", { update: 3 });
    await ran;
    expect(session.view()).toMatchObject({ fault: { code: "lesson_run_lost" } });
    expect(session.view().runs).toEqual({});
    await expect.poll(() => session.view().other).toEqual({ phase: "running", update: 1, updates: 12 });
  });

  it("says why a run was refused, and waits for the one that stands in its way", async () => {
    const gateway = new FakeGateway();
    const session = openLesson(gateway, database());
    await expect.poll(() => session.view().isRestored).toBe(true);
    gateway.status = { ...idleRun, phase: "opening", experiment: "calc" };
    await session.run(experiment);
    expect(session.view().fault).toMatchObject({ code: "run_phase", key: "run", do: "Stop it first." });
    await expect.poll(() => session.view().other?.phase).toBe("opening");
    gateway.put("stopped");
    await expect.poll(() => session.view().other).toBeNull();
  });

  it("works in a browser that keeps nothing, and says that a reload loses it", async () => {
    const refuse = () => Promise.reject(new Error("denied"));
    const gateway = new FakeGateway();
    const session = openLesson(gateway, { get: refuse, set: refuse, del: refuse });
    await expect.poll(() => session.view().isRestored).toBe(true);
    expect(session.view().isLasting).toBe(false);
    const ran = session.run(experiment);
    await expect.poll(() => gateway.status.phase).toBe("running");
    gateway.put("finished", { update: 3 });
    await ran;
    await session.answer(choice, "harness");
    expect(session.view()).toMatchObject({ latest: "run", verdicts: { who: { ok: true } }, fault: null });
    // Another language shows it anew.
    await session.look();
    expect(session.view().latest).toBe("run");
  });

  it("is started over for whoever comes next", async () => {
    const [gateway, values] = [new FakeGateway(), database()];
    const first = openLesson(gateway, values);
    await expect.poll(() => first.view().isRestored).toBe(true);
    const ran = first.run(experiment);
    await expect.poll(() => gateway.status.phase).toBe("running");
    await first.startOver();
    gateway.put("finished", { update: 3 });
    await ran;
    await first.answer(choice, "harness");
    await first.setTiny(true);
    await first.startOver();
    expect(first.view()).toEqual({ ...freshLesson, isRestored: true });
    const second = openLesson(gateway, values);
    await second.look();
    await expect.poll(() => second.view().isRestored).toBe(true);
    // The studio still shows the run, but it is nobody's any more.
    await second.look();
    expect(second.view()).toEqual(first.view());
  });

  it("started over leaves nothing of the one before in a browser whose storage is full", async () => {
    const [gateway, kept] = [new FakeGateway(), database()];
    const first = openLesson(gateway, kept);
    await expect.poll(() => first.view().isRestored).toBe(true);
    await first.answer(choice, "harness");
    const full = { ...kept, set: () => Promise.reject(new Error("QuotaExceededError")) };
    const second = openLesson(gateway, full);
    await expect.poll(() => second.view().answers).toEqual({ who: "harness" });
    await second.answer(choice, "model");
    expect(second.view()).toMatchObject({ answers: { who: "model" }, isLasting: false });
    await second.startOver();
    const third = openLesson(gateway, full);
    await expect.poll(() => third.view().isRestored).toBe(true);
    const { answers, verdicts, runs } = third.view();
    expect({ answers, verdicts, runs }).toEqual({ answers: {}, verdicts: {}, runs: {} });
  });

  it("begins anew where an older page kept something else", async () => {
    const values = database();
    await values.set("01-policy/progress", { answers: [] });
    await values.set("01-policy/runs", ["run", "gone"]);
    await values.set("01-policy/run/run", { metrics: "none" });
    await values.set("01-policy/run/gone", { metrics: [], groups: [] });
    const session = openLesson(new FakeGateway(), values);
    await expect.poll(() => session.view().isRestored).toBe(true);
    expect(session.view()).toEqual({ ...freshLesson, isRestored: true });
  });
});
