// A run that is to take a kept one's place: that one is lost when the new one is open, and not before.
import { describe, expect, it } from "vitest";
import type { TabControl } from "../../../src/app/tab/tab_control.ts";
import { EnvironmentError } from "../../../src/core/errors.ts";
import type { Files } from "../../../src/schema/files.ts";
import { FakeTab } from "./fake_tab.ts";

const record = { format: 1 as const, experiment: "calc", overrides: {}, reward: "", isRunning: false };
const anew = { experiment: "calc", overrides: { "train.updates": 2 } };
const full = new EnvironmentError("disk_full", "The browser's storage is full.", { do: "Delete something." });

/** A tab with a run of calc after three updates, which is shown. */
async function withKept(): Promise<{ tab: FakeTab; control: TabControl; before: Record<string, string> }> {
  const tab = new FakeTab();
  const { control } = await tab.open();
  await control.adopt(record, () => tab.putRun("calc", 3));
  return { tab, control, before: await contents(tab.files) };
}

/** Every file by its path, but for the tab's record. */
async function contents(files: Files, folder = "/"): Promise<Record<string, string>> {
  const out: Record<string, string> = {};
  for (const { name, kind } of await files.list(folder)) {
    const path = files.join(folder, name);
    if (kind === "folder") Object.assign(out, await contents(files, path));
    else if (path !== "/tab.json") out[path] = await files.readText(path);
  }
  return out;
}

async function resumable(control: TabControl): Promise<string[]> {
  return (await control.choices()).filter((choice) => choice.resumable).map(({ id }) => id);
}

describe("a kept run that another one is to replace", () => {
  it("is as it was when that one cannot be opened, and goes on", async () => {
    const { tab, control, before } = await withKept();
    tab.fault = full;
    await expect(control.start(anew)).rejects.toBe(full);
    expect(await contents(tab.files)).toEqual(before);
    expect(control.status()).toMatchObject({
      ...{ phase: "failed", experiment: "calc", update: 3, version: 3, modelOpen: false },
      error: { code: "disk_full", message: "The browser's storage is full.", do: "Delete something." },
    });
    expect([control.shown, await tab.record()]).toEqual([record, record]);
    expect(await resumable(control)).toEqual(["calc"]);
    expect((await tab.open()).control.status()).toMatchObject({ phase: "stopped", update: 3, error: null });
    await control.start({ experiment: "calc", resume: true, paused: true });
    expect(control.status()).toMatchObject({ phase: "paused", update: 3 });
  });

  it("can be continued by the time that the page is told of the failure", async () => {
    const { tab, control } = await withKept();
    const known: Promise<[string, string[]]>[] = [];
    control.onChange(() => {
      const { phase } = control.status();
      known.push(resumable(control).then((ids) => [phase, ids]));
    });
    tab.fault = full;
    await expect(control.start(anew)).rejects.toBe(full);
    const told = await Promise.all(known);
    expect(told.filter(([phase]) => phase === "failed")).not.toEqual([]);
    expect(told.filter(([phase, ids]) => phase === "failed" && ids.length === 0)).toEqual([]);
  });

  it("is shown then, also where another run was shown before", async () => {
    const { tab, control } = await withKept();
    await control.adopt({ ...record, experiment: "clerk" }, () => tab.putRun("clerk", 5));
    tab.fault = full;
    await expect(control.start(anew)).rejects.toBe(full);
    expect(control.status()).toMatchObject({ phase: "failed", experiment: "calc", update: 3 });
    expect(control.shown).toEqual(record);
    expect(await resumable(control)).toEqual(["calc", "clerk"]);
  });

  it("is as it was when the new one is stopped before it is open", async () => {
    const { tab, control, before } = await withKept();
    const open = tab.holdOpening();
    const started = control.start(anew);
    await tab.until("opening");
    const stopped = control.stop();
    open();
    await Promise.all([started, stopped]);
    expect(await contents(tab.files)).toEqual(before);
    expect(control.status()).toMatchObject({ phase: "stopped", experiment: "calc", update: 3, error: null });
    expect(await tab.record()).toEqual(record);
  });

  it("is lost when the new one is open, whatever becomes of that", async () => {
    const { tab, control } = await withKept();
    await control.start({ ...anew, paused: true });
    expect(Object.keys(await contents(tab.files))).toEqual(["/runs/calc/config.json"]);
    expect(await tab.record()).toMatchObject({ ...anew, isRunning: true });
    expect(await tab.record()).not.toHaveProperty("opening");
    await control.stop();
    expect(control.status()).toMatchObject({ phase: "stopped", update: 0, updates: 2 });
  });

  it("comes back when the page goes before the new one is open, which is not started again by itself", async () => {
    const { tab, control, before } = await withKept();
    tab.holdOpening();
    void control.start(anew).catch(() => {});
    await tab.until("opening");
    await tab.written();
    expect(await tab.files.exists("/runs/calc/config.json")).toBe(false);
    const looking = (await tab.open()).control;
    expect(await contents(tab.files)).toEqual(before);
    expect(looking.status()).toMatchObject({ phase: "stopped", update: 3 });
    await looking.goOn();
    const error = {
      code: "opening_cut_off",
      message: "The page was left while the run of calc was being opened: it was not started again.",
      do: 'Press "Start" to try it again.',
    };
    expect(looking.status()).toMatchObject({ phase: "stopped", update: 3, error });
    expect([await contents(tab.files), await tab.record()]).toEqual([before, record]);
    const again = (await tab.open()).control;
    await again.goOn();
    expect(again.status()).toMatchObject({ phase: "stopped", update: 3, error: null });
    tab.letRunsOpen();
    await again.start(anew);
    await tab.until("finished");
    expect(again.status()).toMatchObject({ update: 2, updates: 2, error: null });
    expect((await contents(tab.files))["/runs/calc/checkpoints/step_3/state.json"]).toBe(undefined);
  });

  it("is not continued by itself either when its page went before it was open", async () => {
    const { tab, control } = await withKept();
    tab.holdOpening();
    void control.start({ experiment: "calc", resume: true }).catch(() => {});
    await tab.until("opening");
    await tab.written();
    const after = (await tab.open()).control;
    await after.goOn();
    expect(after.status()).toMatchObject({
      ...{ phase: "stopped", update: 3 },
      error: { code: "opening_cut_off", do: 'Press "Continue the last run" to try it again.' },
    });
    expect(await tab.record()).toEqual(record);
  });

  it("comes back at the next opening when it cannot at once, which is said", async () => {
    const { tab, control, before } = await withKept();
    const { rename } = tab.files;
    tab.files.rename = async (from, to) => {
      if (from.startsWith("/replaced/")) throw full;
      await rename(from, to);
    };
    tab.fault = new TypeError("no device");
    await expect(control.start(anew)).rejects.toMatchObject({
      code: "swap_unfinished",
      message:
        "/runs/calc could not be replaced, and what was there is not back in its place yet: " +
        "no device The browser's storage is full.",
    });
    tab.files.rename = rename;
    const { control: after } = await tab.open();
    expect(await contents(tab.files)).toEqual(before);
    expect(after.status()).toMatchObject({ experiment: "calc", update: 3 });
  });
});

describe("a run that takes nobody's place and cannot be opened", () => {
  it("leaves nothing that a later page would put over what is brought in meanwhile", async () => {
    const tab = new FakeTab();
    const { control } = await tab.open();
    tab.fault = full;
    await expect(control.start(anew)).rejects.toBe(full);
    expect(await contents(tab.files)).toEqual({});
    expect(control.status()).toMatchObject({ phase: "failed", update: 0, error: { code: "disk_full" } });
    await control.adopt(record, () => tab.putRun("calc", 3));
    expect((await tab.open()).control.status()).toMatchObject({ phase: "stopped", update: 3 });
  });
});
