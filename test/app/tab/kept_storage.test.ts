// What a tab keeps: listed with what it takes, deleted for good, and never while a run needs it.
import { describe, expect, it } from "vitest";
import { KeptStorage } from "../../../src/app/tab/kept_storage.ts";
import { EnvironmentError } from "../../../src/core/errors.ts";
import { memoryFiles } from "../../../src/platform/memory_files.ts";
import { idleRun, isAlive, type RunPhase, RunPhaseError } from "../../../src/schema/run_control.ts";
import { calcConfig, runConfig } from "./run_configs.ts";

const state = { format: 1, update: 2, version: 2, optimizerSteps: 2, cursor: 4, carryOver: [], storeSeq: 9 };
const hashes = { configSha256: "c", weightsSha256: "w" };

/** A tab with the model "my model", a run of calc on it with two updates, and one of clerk that cannot be read. */
async function tab(phase: RunPhase = "stopped") {
  const files = memoryFiles();
  await files.write("/models/my%20model/config.json", "{}");
  await files.write("/models/my%20model/deep/model.safetensors", new Uint8Array(1000));
  await files.write("/runs/calc/config.json", runConfig);
  await files.write("/runs/calc/checkpoints/step_2/state.json", JSON.stringify({ ...state, ...hashes }));
  await files.write("/runs/clerk/config.json", "torn");
  await files.write("/runs/clerk/checkpoints/step_1/state.json", "torn");
  const databases = new Map([["/runs/calc/store.sqlite", 5000]]);
  const discarded: string[] = [];
  const sqlite = {
    isDurable: true,
    exists: (path: string) => databases.has(path),
    sizeBytes: (path: string) => databases.get(path) ?? 0,
    remove: (path: string) => void databases.delete(path),
  };
  const usesModel = (path: string): boolean => isAlive(phase) && path === "/models/my%20model";
  const control = {
    usesModel,
    changeModel: async (path: string, change: () => Promise<void>) => {
      if (usesModel(path)) throw new RunPhaseError("lose its model", phase, "Stop it first.");
      await change();
    },
    shown: { format: 1 as const, experiment: "calc", overrides: {}, reward: "", isRunning: isAlive(phase) },
    status: () => ({ ...idleRun, phase }),
    async discard(experiment: string, remove: () => Promise<void>) {
      discarded.push(experiment);
      await remove();
    },
  };
  return { files, databases, discarded, sqlite, storage: new KeptStorage(files, sqlite, control) };
}

describe("what a tab keeps", () => {
  it("is listed with its sizes, damaged things too", async () => {
    const { storage, files } = await tab();
    const { updates } = calcConfig.train;
    const size = runConfig.length + (await files.size("/runs/calc/checkpoints/step_2/state.json")) + 5000;
    expect(await storage.list()).toEqual({
      models: [{ name: "my model", path: "/models/my%20model", sizeBytes: 1002, inUse: false }],
      runs: [
        { experiment: "calc", update: 2, updates, sizeBytes: size, inUse: false, exportable: true },
        { experiment: "clerk", update: null, updates: null, sizeBytes: 8, inUse: false, exportable: true },
      ],
      isDurable: true,
    });
  });

  it("is nothing at first", async () => {
    const sqlite = { isDurable: false, exists: () => false, sizeBytes: () => 0, remove() {} };
    const control = {
      ...{ shown: null, status: () => idleRun, usesModel: () => false },
      ...{ changeModel: async () => {}, discard: async () => {} },
    };
    const storage = new KeptStorage(memoryFiles(), sqlite, control);
    expect(await storage.list()).toEqual({ models: [], runs: [], isDurable: false });
  });

  it("counts a database that cannot be read as nothing, and still deletes it", async () => {
    const { storage, sqlite, databases } = await tab();
    sqlite.sizeBytes = () => {
      throw new Error("malformed");
    };
    expect((await storage.list()).runs[0]?.sizeBytes).toBeGreaterThan(0);
    await storage.deleteRun("calc");
    expect(databases.size).toBe(0);
  });

  it("is listed while a run renames and deletes its checkpoints: what has gone takes nothing", async () => {
    const { storage, files } = await tab();
    const { list } = files;
    files.list = async (folder) => {
      if (folder.endsWith("step_2")) await files.remove(folder);
      return list(folder);
    };
    const { runs } = await storage.list();
    expect(runs.map(({ experiment, sizeBytes }) => [experiment, sizeBytes])).toEqual([
      ["calc", runConfig.length + 5000],
      ["clerk", 8],
    ]);
    files.list = async (folder) => {
      if (folder.endsWith("step_1")) throw new EnvironmentError("file_failed", "no", {});
      return list(folder);
    };
    await expect(storage.list()).rejects.toMatchObject({ code: "file_failed" });
  });

  it("is not deleted whole for a name that is none", async () => {
    const { storage, files } = await tab();
    for (const name of ["", ".", ".."]) {
      await expect(storage.deleteModel(name)).rejects.toMatchObject({ code: "kept_name" });
      await expect(storage.deleteRun(name)).rejects.toMatchObject({ code: "kept_name" });
    }
    expect([(await files.list("/models")).length, (await files.list("/runs")).length]).toEqual([1, 2]);
  });

  it("is deleted: a model, and a run with its records", async () => {
    const { storage, files, databases, discarded } = await tab();
    await storage.deleteModel("my model");
    await storage.deleteRun("calc");
    await storage.deleteRun("clerk");
    expect([await files.list("/models"), await files.list("/runs")]).toEqual([[], []]);
    expect([databases.size, discarded]).toEqual([0, ["calc", "clerk"]]);
    await expect(storage.deleteModel("my model")).rejects.toMatchObject({
      code: "nothing_kept",
      message: "Nothing is kept as my model.",
    });
    await expect(storage.deleteRun("calc")).rejects.toMatchObject({ code: "nothing_kept" });
  });

  it("is kept while a run needs it, and says so", async () => {
    for (const phase of ["opening", "running", "paused", "stopping"] as const) {
      const { storage, files } = await tab(phase);
      const { models, runs } = await storage.list();
      expect([models[0]?.inUse, runs.map(({ inUse }) => inUse)]).toEqual([true, [true, false]]);
      expect(runs.map(({ exportable }) => exportable)).toEqual([phase === "paused", true]);
      await expect(storage.deleteModel("my model")).rejects.toMatchObject({
        code: "run_phase",
        message: `The run is ${phase}: it cannot lose its model.`,
        do: "Stop it first.",
      });
      expect(await files.exists("/models/my%20model/config.json")).toBe(true);
    }
  });
});
