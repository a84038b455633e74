// The configuration of a start in a tab: the experiment's own, a kept one, a person's values, an edited reward.
import { describe, expect, it } from "vitest";
import { tabChoices, tabExperiment } from "../../../src/app/tab/experiments.ts";
import { tabConfig } from "../../../src/app/tab/tab_config.ts";
import { KeptRecord, parseRecord } from "../../../src/app/tab/tab_record.ts";
import { parseConfig } from "../../../src/experiment/config.ts";
import { memoryFiles } from "../../../src/platform/memory_files.ts";

const calc = tabExperiment("calc");

describe("the configuration of a tab's run", () => {
  it("is that of Node's experiment, so that a checkpoint continues on either", () => {
    expect(tabConfig(calc, null, {}, "")).toEqual(parseConfig(calc.config));
  });

  it("takes values by dotted path, and names those it does not know", () => {
    const config = tabConfig(calc, null, { "train.updates": 3, "model.path": "/models/mine" }, "");
    expect([config.train.updates, config.model.path]).toEqual([3, "/models/mine"]);
    expect(() => tabConfig(calc, null, { "train.update": 3 }, "")).toThrow(/unknown key train\.update .*updates/);
  });

  it("goes on with what a run was begun with; random weights of another machine have another place here", () => {
    const begun = parseConfig({ ...(calc.config as object), seed: 9 });
    expect(tabConfig(calc, begun, {}, "").seed).toBe(9);
    const random = { ...begun, model: { ...begun.model, randomSeed: 5, path: "/home/somebody/runs/x/base" } };
    expect(tabConfig(calc, random, {}, "").model).toMatchObject({ path: "./model", randomSeed: 5 });
  });

  it("says what was rewarded", () => {
    const { rollout } = tabConfig(calc, null, {}, "() => 1");
    expect(rollout).toMatchObject({ reward: "grader", grader: "edited", graderOptions: { source: "() => 1" } });
  });

  it("is offered under ids, with whether a run of it is kept, and an unknown one is told the nearest", async () => {
    const choices = await tabChoices(async ({ id }) => ({ resumable: id === "clerk" }));
    expect(choices.filter(({ resumable }) => resumable).map(({ id }) => id)).toEqual(["clerk"]);
    expect(choices.map(({ id }) => id)).toContain("calc");
    expect(choices.find(({ id }) => id === "calc")).toMatchObject({ modelFolder: "models/calc" });
    expect(() => tabExperiment("clac")).toThrow(/There is no experiment "clac" .*calc/);
  });
});

describe("the record of a tab's run", () => {
  it("is found again, and one that cannot be read is none", async () => {
    const files = memoryFiles();
    const found = async () => {
      const kept = new KeptRecord(files);
      await kept.read();
      return kept.value;
    };
    expect(await found()).toBe(null);
    const record = { format: 1 as const, experiment: "calc", overrides: {}, reward: "", isRunning: true };
    const kept = new KeptRecord(files);
    await kept.note({ isPaused: true });
    expect(await found()).toBe(null);
    await kept.keep(record);
    expect(await found()).toEqual(record);
    // Two at once: the later one stays.
    await Promise.all([kept.note({ isPaused: true }), kept.note({ isRunning: false })]);
    expect(await found()).toEqual({ ...record, isRunning: false, isPaused: true });
    await kept.drop();
    expect([kept.value, await found()]).toEqual([null, null]);
    await files.write("/tab.json", '{"format":1,"exp');
    expect(await found()).toBe(null);
    expect(() => parseRecord("{}", "experiment.json")).toThrow("experiment.json says nothing of a run.");
  });
});
