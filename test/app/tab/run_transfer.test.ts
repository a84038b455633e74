// Models, checkpoints and runs into a tab and out of it: what arrives is what left, and nothing lands outside its place.
import { strToU8, unzipSync, zipSync } from "fflate";
import { beforeEach, describe, expect, it } from "vitest";
import { calcConfig, runConfig } from "./run_configs.ts";
import { checkpointFiles, contents, file, record, stateText, tab, text, withRun } from "./transfer_rig.ts";

describe("transfers of a tab", () => {
  let from: ReturnType<typeof tab>;
  beforeEach(async () => {
    from = await withRun();
  });

  it("take a checkpoint out as a model folder, and bring it back with its run's configuration", async () => {
    const { name, zip } = await from.transfer.exportCheckpoint();
    expect(name).toBe("calc_step_2.zip");
    expect(Object.keys(unzipSync(zip)).sort()).toEqual([
      "config.json",
      "experiment.json",
      "model.safetensors",
      "run_config.json",
      "state.json",
    ]);
    const to = tab(null);
    await to.files.write("/runs/calc/old.txt", "of another run");
    expect(await to.transfer.arrivingCheckpoint(zip)).toEqual({ experiment: "calc", update: 2, replaces: true });
    expect(to.adopted).toEqual([]);
    await to.transfer.importCheckpoint(zip);
    expect(to.adopted).toEqual([{ ...record, isRunning: false }]);
    expect(await to.files.readText("/runs/calc/config.json")).toBe(runConfig);
    expect(await to.files.readText("/runs/calc/checkpoints/step_2/config.json")).toBe('{"model_type":"llama"}');
    expect(await to.files.exists("/runs/calc/old.txt")).toBe(false);
    expect((await to.files.list("/runs/calc/checkpoints/step_2")).map(({ name }) => name)).toEqual([
      "config.json",
      "model.safetensors",
      "state.json",
    ]);
  });

  it("take a lesson's checkpoint out as one of its experiment, which has not paused here", async () => {
    const made = tab({ ...record, experiment: "lesson", isPaused: true });
    for (const path of ["config.json", "checkpoints/step_2/state.json"]) {
      await made.files.write(`/runs/lesson/${path}`, await from.files.read(`/runs/calc/${path}`));
    }
    const { name, zip } = await made.transfer.exportCheckpoint();
    expect(name).toBe("clerk_step_2.zip");
    expect(JSON.parse(text(unzipSync(zip)["experiment.json"]))).toEqual({
      ...record,
      experiment: "clerk",
      isRunning: false,
    });
  });

  it("take a whole run out without its logs, and bring in one with the store, zipped or as files", async () => {
    const { name, zip } = await from.transfer.exportRun();
    expect(name).toBe("calc_run.zip");
    const paths = Object.keys(unzipSync(zip));
    expect(paths).toContain("store.sqlite");
    expect(paths.some((path) => path.startsWith("attempts"))).toBe(false);
    const to = tab(null);
    await to.transfer.importRun("calc", [{ path: "run.zip", file: new Blob([zip as Uint8Array<ArrayBuffer>]) }]);
    expect(text(to.databases.get("/runs/calc/store.sqlite"))).toBe("database");
    expect(await to.files.readText("/runs/calc/metrics.jsonl")).toBe('{"step":1}\n');
    const again = tab(null);
    await again.transfer.importRun("calc", [file("mine/config.json", runConfig), file("mine/store.sqlite", "db")]);
    expect(await again.files.readText("/runs/calc/config.json")).toBe(runConfig);
    expect(text(again.databases.get("/runs/calc/store.sqlite"))).toBe("db");
  });

  it("bring in what a killed command has left: the store with its log, but no logs of attempts", async () => {
    const to = tab(null);
    const left = [
      file("mine/config.json", runConfig),
      file("mine/store.sqlite", "db"),
      file("mine/store.sqlite-wal", "+log"),
      file("mine/store.sqlite-shm", "index"),
      file("mine/attempts/a/0/stdout.log", "said"),
      ...checkpointFiles(1).map(({ path, file }) => ({ path: `mine/${path}`, file })),
    ];
    await to.transfer.importRun("calc", left);
    expect(text(to.databases.get("/runs/calc/store.sqlite"))).toBe("db+log");
    expect((await to.files.list("/runs/calc")).map(({ name }) => name)).toEqual(["checkpoints", "config.json"]);
  });

  it("find a run in folders within folders, and in what a Mac has zipped", async () => {
    const zip = zipSync({
      "runs/mine/config.json": strToU8(runConfig),
      "runs/mine/checkpoints/step_3/state.json": strToU8(stateText(3)),
      "runs/mine/checkpoints/step_3/model.safetensors": strToU8("weights"),
      "__MACOSX/runs/mine/._config.json": strToU8("x"),
      "runs/.DS_Store": strToU8("x"),
    });
    const files = [{ path: "mine.zip", file: new Blob([zip as Uint8Array<ArrayBuffer>]) }];
    const to = tab(null);
    const { updates } = calcConfig.train;
    expect(await to.transfer.arrivingRun(files)).toEqual({ experiment: "calc", update: 3, updates, kept: [] });
    await to.transfer.importRun("calc", files);
    expect(await to.files.readText("/runs/calc/config.json")).toBe(runConfig);
    // A folder that no list of runs shows, since its configuration is gone, is replaced as well.
    await to.files.write("/runs/clerk/checkpoints/step_1/state.json", "{}");
    expect((await to.transfer.arrivingRun(files)).kept).toEqual(["calc", "clerk"]);
  });

  it("leave nothing of a run that does not fit", async () => {
    const to = tab(null);
    const { write } = to.files;
    to.files.write = async (path, data) => {
      if (path.endsWith("b.bin")) throw new Error("full");
      await write(path, data);
    };
    const files = [file("config.json", runConfig), file("b.bin", "b")];
    await expect(to.transfer.importRun("calc", files)).rejects.toThrow("full");
    expect(await to.files.exists("/runs/calc")).toBe(false);
  });

  it("leave the kept run as it was when the new one does not fit, or is refused by the end", async () => {
    const { transfer, files, databases } = from;
    const before = await contents(files);
    const noConfig = [file("a/config.json", runConfig), file("a/../../x", "")];
    await expect(transfer.importRun("calc", noConfig)).rejects.toMatchObject({ code: "file_path" });
    const unread = { path: "b.bin", file: new Blob(["b"]) };
    unread.file.arrayBuffer = () => Promise.reject(new Error("the file has gone"));
    await expect(transfer.importRun("calc", [file("config.json", runConfig), unread])).rejects.toThrow("has gone");
    expect(await contents(files)).toEqual(before);
    expect(text(databases.get("/runs/calc/store.sqlite"))).toBe("database");
  });

  it("take no run out while it is at work", async () => {
    const { transfer } = await withRun("running");
    await expect(transfer.exportRun()).rejects.toMatchObject({
      code: "run_phase",
      message: "The run is running: it cannot be exported.",
      do: "Pause it first.",
    });
    expect((await (await withRun("paused")).transfer.exportRun()).name).toBe("calc_run.zip");
  });

  it("take a run out that is not shown, whatever the one that is shown is at", async () => {
    const { transfer, files, databases } = await withRun("running");
    await files.write("/runs/clerk/config.json", "of clerk");
    databases.set("/runs/clerk/store.sqlite", strToU8("its database"));
    const { name, zip } = await transfer.exportRun("clerk");
    expect(name).toBe("clerk_run.zip");
    const folder = Object.entries(unzipSync(zip)).map(([path, bytes]) => [path, text(bytes)]);
    expect(Object.fromEntries(folder)).toEqual({ "config.json": "of clerk", "store.sqlite": "its database" });
    await expect(transfer.exportRun("calc")).rejects.toMatchObject({ code: "run_phase" });
    await expect(transfer.exportRun("vault")).rejects.toMatchObject({ code: "no_run" });
  });

  it("keep a model folder under its name, and name what one lacks", async () => {
    const model = [file("m/config.json", "{}"), file("m/tokenizer.json", "{}"), file("m/model.safetensors", "w")];
    expect(await from.transfer.importModel("my model", model)).toBe("/models/my%20model");
    expect(await from.files.readText("/models/my%20model/model.safetensors")).toBe("w");
    await expect(from.transfer.importModel("x", [file("readme", "")])).rejects.toMatchObject({
      code: "model_folder",
      message: "The folder x lacks config.json, tokenizer.json, *.safetensors.",
    });
  });

  it("say what a model would replace, which one that cannot be read leaves as it was", async () => {
    const { transfer, files } = from;
    const model = [file("m/config.json", "{}"), file("m/tokenizer.json", "{}"), file("m/model.safetensors", "w")];
    expect(await transfer.arrivingModel("mine", model)).toEqual({ replaces: false });
    await transfer.importModel("mine", model);
    expect(await transfer.arrivingModel("mine", model)).toEqual({ replaces: true });
    const before = await contents(files);
    const unread = { path: "m/more.safetensors", file: new Blob(["x"]) };
    unread.file.arrayBuffer = () => Promise.reject(new Error("the file has gone"));
    await expect(transfer.importModel("mine", [...model, unread])).rejects.toThrow("has gone");
    await expect(transfer.importModel("used", model)).rejects.toMatchObject({ code: "run_phase" });
    expect(await contents(files)).toEqual(before);
    await transfer.importModel("mine", [...model, file("m/more.safetensors", "x")]);
    expect(await files.readText("/models/mine/more.safetensors")).toBe("x");
  });

  it("keep no model under a name that is another folder's, and delete none for it", async () => {
    const { transfer, files } = from;
    const model = [file("m/config.json", "{}"), file("m/tokenizer.json", "{}"), file("m/model.safetensors", "w")];
    await transfer.importModel("mine", model);
    const before = await contents(files);
    for (const name of ["", ".", "..", "\ud800"]) {
      const refusal = { code: "kept_name", do: "Give it another name." };
      await expect(transfer.importModel(name, model)).rejects.toMatchObject(refusal);
      await expect(transfer.arrivingModel(name, model)).rejects.toMatchObject(refusal);
    }
    await expect(transfer.importModel("..", model)).rejects.toThrow('Nothing can be kept as "..".');
    expect(await contents(files)).toEqual(before);
    expect(await transfer.importModel("...", model)).toBe("/models/...");
  });

  it("tell a run and a checkpoint apart, and say which button takes it", async () => {
    const { transfer } = tab(null);
    const checkpoint = (await from.transfer.exportCheckpoint()).zip as Uint8Array<ArrayBuffer>;
    await expect(transfer.importRun("calc", [{ path: "a.zip", file: new Blob([checkpoint]) }])).rejects.toMatchObject({
      code: "run_folder",
      message: "This is one checkpoint, not a whole run.",
      do: 'Bring it with "Import a checkpoint".',
    });
    await expect(transfer.importCheckpoint((await from.transfer.exportRun()).zip)).rejects.toMatchObject({
      code: "tab_record",
      message: "The archive holds a whole run, not one checkpoint.",
      do: 'Bring it with "Import a run".',
    });
  });

  it("refuse by name what is no archive, no run, or leads out of its folder", async () => {
    const { transfer } = tab(null);
    const refused = async (work: Promise<unknown>) =>
      work.then(
        () => "",
        ({ code }: { code: string }) => code,
      );
    expect(await refused(transfer.importCheckpoint(strToU8("text")))).toBe("zip");
    expect(await refused(transfer.importCheckpoint(zipSync({ a: strToU8("b") })))).toBe("tab_record");
    const noState = zipSync({ "experiment.json": strToU8(JSON.stringify(record)) });
    expect(await refused(transfer.importCheckpoint(noState))).toBe("checkpoint_damaged");
    expect(await refused(transfer.importRun("calc", [file("a/metrics.jsonl", "")]))).toBe("run_folder");
    expect(await refused(transfer.importRun("calc", [file("config.json", '{"model_type":"llama"}')]))).toBe(
      "run_folder",
    );
    expect(await refused(transfer.importRun("calc", [file("config.json", runConfig), file("../x", "")]))).toBe(
      "file_path",
    );
    expect(await refused(transfer.exportCheckpoint())).toBe("no_run");
    expect(await refused(tab().transfer.exportCheckpoint())).toBe("no_checkpoint");
  });
});
