// A tab's runs with everything but the model: what a run leaves open, what a reload finds, and whose place a run takes.
import { describe, expect, it } from "vitest";
import type { TabControl } from "../../../src/app/tab/tab_control.ts";
import { lessonExperimentId } from "../../../src/schema/lesson.ts";
import { idleRun } from "../../../src/schema/run_control.ts";
import { FakeTab } from "./fake_tab.ts";

const calc = { experiment: "calc", overrides: { "train.updates": 2 } };

describe("the model of a tab's run", () => {
  it("answers after the last update until the run is stopped; then there is nothing more to stop", async () => {
    const tab = new FakeTab();
    const { control } = await tab.open();
    expect(control.status()).toEqual(idleRun);
    await control.start(calc);
    await tab.until("finished");
    expect(control.status()).toMatchObject({ phase: "finished", update: 2, version: 2, modelOpen: true });
    await control.stop();
    expect(control.status()).toMatchObject({ phase: "finished", update: 2, version: 2, modelOpen: false });
    await expect(control.stop()).rejects.toMatchObject({
      code: "run_phase",
      message: "The run is finished: it cannot be stopped.",
      do: "Start one.",
    });
  });

  it("is closed after a reload, and opened again by continuing the run", async () => {
    const tab = new FakeTab();
    await (await tab.open()).control.start(calc);
    await tab.until("finished");
    const { control } = await tab.open();
    await control.goOn();
    expect(control.status()).toMatchObject({ phase: "finished", update: 2, version: 2, modelOpen: false });
    await control.start({ ...calc, resume: true });
    await tab.until("finished");
    expect(control.status()).toMatchObject({ phase: "finished", update: 2, modelOpen: true });
  });

  it("is closed where a checkpoint was brought in, and where a run has failed", async () => {
    const tab = new FakeTab();
    const { control } = await tab.open();
    const record = { format: 1 as const, experiment: "calc", overrides: {}, reward: "", isRunning: false };
    await control.adopt(record, () => tab.putRun("calc", 3));
    expect(control.status()).toMatchObject({ update: 3, version: 3, modelOpen: false });
    tab.fault = new TypeError("no such model");
    await expect(control.start(calc)).rejects.toThrow("no such model");
    expect(control.status()).toMatchObject({ phase: "failed", modelOpen: false });
  });

  it("is closed from the moment on that the run is asked to stop", async () => {
    const tab = new FakeTab();
    const { control } = await tab.open();
    await control.start({ ...calc, paused: true });
    expect(control.status()).toMatchObject({ phase: "paused", modelOpen: true });
    const open: [string, boolean][] = [];
    control.onChange(() => open.push([control.status().phase, control.status().modelOpen]));
    await control.stop();
    expect(open.filter(([, isOpen]) => isOpen)).toEqual([]);
    expect(control.status()).toMatchObject({ phase: "stopped", modelOpen: false });
  });
});

describe("a reload of a tab", () => {
  /** What the run of a new page is at after `goOn`. */
  async function reloaded(tab: FakeTab): Promise<[phase: string, update: number]> {
    const { control } = await tab.open();
    await control.goOn();
    await tab.settled();
    return [control.status().phase, control.status().update];
  }

  it("leaves a run waiting that was opened to wait, and again after the next one", async () => {
    const tab = new FakeTab();
    await (await tab.open()).control.start({ ...calc, paused: true });
    expect(await reloaded(tab)).toEqual(["paused", 0]);
    expect(await reloaded(tab)).toEqual(["paused", 0]);
  });

  it("leaves a run waiting that has taken one update, and one that was paused", async () => {
    const tab = new FakeTab();
    const { control } = await tab.open();
    await control.start({ ...calc, paused: true });
    await control.step();
    expect(await reloaded(tab)).toEqual(["paused", 1]);

    const other = new FakeTab();
    other.holdUpdates();
    const running = (await other.open()).control;
    await running.start(calc);
    // Its update outlasts the page: what counts is that somebody has asked.
    void running.pause();
    await other.written();
    other.letUpdatesPass();
    expect(await reloaded(other)).toEqual(["paused", 0]);
  });

  it("lets a run go on that was told to, and stops one that somebody has stopped", async () => {
    const tab = new FakeTab();
    tab.holdUpdates();
    const { control } = await tab.open();
    await control.start({ ...calc, paused: true });
    await control.resume();
    tab.letUpdatesPass();
    expect(await reloaded(tab)).toEqual(["finished", 2]);
    const stopping = await tab.open();
    await stopping.control.start({ ...calc, paused: true });
    await stopping.control.stop();
    expect(await reloaded(tab)).toEqual(["stopped", 0]);
  });

  it("knows nothing of pauses that are not asked of a run at work", async () => {
    const tab = new FakeTab();
    const { control } = await tab.open();
    await control.start({ ...calc, paused: true });
    const before = await tab.record();
    void control.step();
    await expect(control.step()).rejects.toThrow("The run is running: it cannot take one step.");
    expect(await tab.record()).toEqual(before);
  });
});

describe("a run that cannot be read", () => {
  /** A page that opens over a finished run of calc of which one file was torn. */
  async function opened(path: string): Promise<{ tab: FakeTab; control: TabControl }> {
    const tab = new FakeTab();
    await (await tab.open()).control.start(calc);
    await tab.until("finished");
    await tab.files.write(path, "torn");
    return { tab, control: (await tab.open()).control };
  }

  it("keeps no page from opening, which says what is wrong", async () => {
    const damaged = await opened("/runs/calc/checkpoints/step_2/state.json");
    expect(damaged.control.status()).toMatchObject({
      phase: "failed",
      experiment: "calc",
      error: { code: "checkpoint_damaged" },
    });
    const torn = await opened("/runs/calc/config.json");
    expect(torn.control.status().error).toEqual({
      code: "run_config",
      message: "The configuration of the run of calc cannot be read.",
      do: "Delete the run in the section Model, or start a new one.",
    });
    const tab = new FakeTab();
    const record = { format: 1, experiment: "of long ago", overrides: {}, reward: "", isRunning: true };
    await tab.files.write("/tab.json", JSON.stringify(record));
    const { control } = await tab.open();
    await control.goOn();
    expect(control.status()).toMatchObject({ phase: "failed", experiment: "of long ago", error: { code: "config" } });
  });

  it("is deleted, or another one is started in its place", async () => {
    const { tab, control } = await opened("/runs/calc/config.json");
    await control.discard("calc", () => tab.files.remove("/runs/calc"));
    expect(control.status()).toEqual(idleRun);
    expect((await tab.open()).control.status()).toEqual(idleRun);
    const other = await opened("/runs/calc/checkpoints/step_2/state.json");
    await other.control.start(calc);
    await other.tab.until("finished");
    expect(other.control.status()).toMatchObject({ phase: "finished", update: 2, error: null });
  });
});

describe("a run that is kept", () => {
  it("is not deleted while it is at work; another one is, and leaves it where it is", async () => {
    const tab = new FakeTab();
    const { control } = await tab.open();
    await control.start({ ...calc, paused: true });
    await expect(control.discard("calc", async () => {})).rejects.toMatchObject({
      code: "run_phase",
      message: "The run is paused: it cannot be deleted.",
      do: "Stop it first.",
    });
    let isDeleted = false;
    await control.discard("clerk", async () => {
      isDeleted = true;
    });
    expect([isDeleted, control.status().phase]).toEqual([true, "paused"]);
    await control.stop();
    await control.discard("calc", () => tab.files.remove("/runs/calc"));
    expect([control.status(), control.shown]).toEqual([idleRun, null]);
  });

  it("is shown as it is when the one that was to take its place did not fit", async () => {
    const tab = new FakeTab();
    const { control } = await tab.open();
    await control.start(calc);
    await tab.until("finished");
    const record = { format: 1 as const, experiment: "clerk", overrides: {}, reward: "", isRunning: false };
    const place = async () => {
      throw new TypeError("full");
    };
    await expect(control.adopt(record, place)).rejects.toThrow("full");
    expect(control.status()).toMatchObject({ phase: "finished", experiment: "calc", update: 2 });
  });
});

describe("the runs of lessons", () => {
  it("leave a person's own run of the same experiment where it is, and are not offered", async () => {
    const tab = new FakeTab();
    const { control } = await tab.open();
    const resumable = async () => (await control.choices()).filter((c) => c.resumable).map(({ id }) => id);
    await control.start({ experiment: "clerk", overrides: { "train.updates": 1 } });
    await tab.until("finished");
    await control.start({ experiment: lessonExperimentId, overrides: { "train.updates": 2 } });
    await tab.until("finished");
    expect(control.status()).toMatchObject({ experiment: lessonExperimentId, update: 2 });
    expect(await resumable()).toEqual(["clerk"]);
    expect((await control.choices()).map(({ id }) => id)).not.toContain(lessonExperimentId);
    await control.start({ experiment: "clerk", resume: true });
    await tab.until("finished");
    expect(control.status()).toMatchObject({ experiment: "clerk", update: 1, updates: 1 });
  });
});
