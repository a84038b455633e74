// What changes a tab's runs is done one after the other: each finds what the one before has left, and says what failed.
import { describe, expect, it } from "vitest";
import { FakeTab } from "./fake_tab.ts";

const calc = { experiment: "calc", overrides: { "train.updates": 2 }, paused: true };
const record = { format: 1 as const, experiment: "clerk", overrides: {}, reward: "", isRunning: false };
const refused = (asked: string) => ({ code: "run_phase", message: expect.stringContaining(`it cannot ${asked}.`) });

describe("what is asked of a tab at once", () => {
  it("starts one run of two, and the record is that one's", async () => {
    const tab = new FakeTab();
    const { control } = await tab.open();
    const [first, second] = [control.start(calc), control.start({ ...calc, experiment: "clerk" })];
    await expect(second).rejects.toMatchObject(refused("be started"));
    await first;
    expect([control.status().phase, (await tab.record()).experiment]).toEqual(["paused", "calc"]);
  });

  it("starts a run when the import before it is whole, whose record does not become the run's", async () => {
    const tab = new FakeTab();
    const { control } = await tab.open();
    const arriving = Promise.withResolvers<void>();
    const adopted = control.adopt(record, async () => {
      await arriving.promise;
      await tab.putRun("clerk", 3);
    });
    const started = control.start(calc);
    await tab.written();
    expect(control.status().phase).toBe("idle");
    arriving.resolve();
    await adopted;
    expect(control.shown).toEqual(record);
    await started;
    expect(control.status()).toMatchObject({ phase: "paused", experiment: "calc", modelOpen: true });
    expect(await tab.record()).toMatchObject({ experiment: "calc", isRunning: true });
  });

  it("imports and deletes nothing over a run that was just asked for", async () => {
    const tab = new FakeTab();
    const { control } = await tab.open();
    const touched: string[] = [];
    const touch = (what: string) => async () => void touched.push(what);
    const started = control.start(calc);
    const modelPath = "/models/mine";
    const work = Promise.allSettled([
      control.adopt(record, touch("import")),
      // Not shown yet when it is asked.
      control.discard("calc", touch("run")),
      control.discard("clerk", touch("other run")),
      control.changeModel(modelPath, touch("model")),
    ]);
    const states = (await work).map(({ status }) => status);
    expect([states, touched]).toEqual([
      ["rejected", "rejected", "fulfilled", "fulfilled"],
      ["other run", "model"],
    ]);
    await started;
    await control.stop();
    for (const typed of [`${modelPath}/`, "../../models/mine"]) {
      await control.start({ ...calc, overrides: { "model.path": typed } });
      expect([control.usesModel(modelPath), control.usesModel("/models/other")], typed).toEqual([true, false]);
      await control.stop();
    }
    const using = control.start({ ...calc, overrides: { "model.path": modelPath } });
    await expect(control.changeModel(modelPath, touch("used model"))).rejects.toMatchObject(refused("lose its model"));
    await using;
    await control.stop();
    await control.changeModel(modelPath, touch("model again"));
    expect(touched).toEqual(["other run", "model", "model again"]);
  });
});

describe("what goes wrong in a tab", () => {
  it("is said of a run that has ended and left records that cannot be opened", async () => {
    const tab = new FakeTab();
    const { control } = await tab.open();
    await control.start({ ...calc, paused: false });
    await tab.until("finished");
    tab.storeFault = new TypeError("the records are malformed");
    await control.stop();
    expect(control.status().phase).toBe("finished");
    expect(tab.said).toEqual(["the records are malformed Report this with the command and its output."]);
  });

  it("is the import's own error, also where nothing can be shown after it", async () => {
    const tab = new FakeTab();
    const { control } = await tab.open();
    const place = () => {
      tab.useFault = new TypeError("no gateway");
      return Promise.reject(new TypeError("full"));
    };
    await expect(control.adopt(record, place)).rejects.toThrow("full");
    expect(tab.said).toEqual([expect.stringMatching(/^no gateway /)]);
    tab.useFault = null;
    await control.start(calc);
    expect(control.status().phase).toBe("paused");
  });

  it("leaves the tab showing what is there when a start cannot be recorded", async () => {
    const tab = new FakeTab();
    const { control } = await tab.open();
    await control.adopt(record, () => tab.putRun("clerk", 3));
    const { write } = tab.files;
    tab.files.write = async () => Promise.reject(new TypeError("full"));
    await expect(control.start({ experiment: "clerk", resume: true })).rejects.toThrow("full");
    tab.files.write = write;
    expect(control.status()).toMatchObject({ experiment: "clerk", update: 3, modelOpen: false });
    await control.start({ experiment: "clerk", resume: true, paused: true });
    expect(control.status()).toMatchObject({ phase: "paused", update: 3 });
  });

  it("in an import that the last page has not ended is put right at the opening", async () => {
    const tab = new FakeTab();
    await tab.files.write("/runs/calc/config.json", "half of the new");
    const note = { target: "/runs/calc", store: null, stage: "away" };
    await tab.files.write("/arriving/old/kept/config.json", "old");
    await tab.files.write("/arriving/old/aside.json", JSON.stringify(note));
    await tab.files.write("/arriving/target.txt", "/runs/calc");
    await tab.open();
    expect(tab.said).toEqual(["The import of calc was cut off by a reload: nothing was changed. Bring it again."]);
    expect(await tab.files.readText("/runs/calc/config.json")).toBe("old");
    expect(await tab.files.exists("/arriving")).toBe(false);
    await tab.files.write("/arriving/new/config.json", "half of the new");
    await tab.files.write("/arriving/target.txt", "/models/my%20model");
    await tab.open();
    // One that stands, and was only not cleared, is none that was cut off.
    await tab.files.write("/arriving/target.txt", "/runs/calc");
    await tab.open();
    expect(tab.said.slice(1)).toEqual([expect.stringContaining("The import of my model was cut off")]);
  });
});
