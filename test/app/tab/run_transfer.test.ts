// Models, checkpoints and runs into a tab and out of it: what arrives is what left, and nothing lands outside its place.
import { strToU8, unzipSync, zipSync } from "fflate";
import { beforeEach, describe, expect, it } from "vitest";
import { RunTransfer } from "../../../src/app/tab/run_transfer.ts";
import type { TabControl } from "../../../src/app/tab/tab_control.ts";
import type { TabFile } from "../../../src/app/tab/tab_messages.ts";
import type { TabRecord } from "../../../src/app/tab/tab_record.ts";
import type { TabParts } from "../../../src/app/tab/tab_run.ts";
import { memoryFiles } from "../../../src/platform/memory_files.ts";

const record: TabRecord = {
  format: 1,
  experiment: "calc",
  overrides: { "train.updates": 3 },
  reward: "",
  isRunning: true,
};

/** A tab with files and databases in memory; `adopted` is what was put in place of its run. */
function tab(shown: TabRecord | null = record) {
  const files = memoryFiles();
  const databases = new Map<string, Uint8Array>();
  const adopted: TabRecord[] = [];
  const sqlite = {
    exists: (path: string) => databases.has(path),
    exportFile: (path: string) => databases.get(path),
    importFile: async (path: string, bytes: Uint8Array) => void databases.set(path, bytes),
    remove: (path: string) => void databases.delete(path),
  };
  const control = {
    shown,
    async adopt(taken: TabRecord, place: () => Promise<void>) {
      await place();
      adopted.push(taken);
    },
  };
  const parts = { platform: { files }, sqlite } as unknown as TabParts;
  return { files, databases, adopted, transfer: new RunTransfer(parts, control as unknown as TabControl) };
}

const file = (path: string, text: string): TabFile => ({ path, file: new Blob([text]) });
const text = (bytes: Uint8Array | undefined) => new TextDecoder().decode(bytes);

/** A run with a checkpoint of two updates. */
async function withRun(): Promise<ReturnType<typeof tab>> {
  const made = tab();
  const state = { format: 1, update: 2, version: 2, optimizerSteps: 2, cursor: 4, carryOver: [], storeSeq: 9 };
  const hashes = { configSha256: "c", weightsSha256: "w" };
  const step = "/runs/calc/checkpoints/step_2";
  await made.files.write("/runs/calc/config.json", '{"seed":7}');
  await made.files.write("/runs/calc/metrics.jsonl", '{"step":1}\n');
  await made.files.write("/runs/calc/attempts/a/0/stdout.log", "said");
  await made.files.write(`${step}/state.json`, JSON.stringify({ ...state, ...hashes }));
  await made.files.write(`${step}/config.json`, '{"model_type":"llama"}');
  await made.files.write(`${step}/model.safetensors`, "weights");
  made.databases.set("/runs/calc/store.sqlite", strToU8("database"));
  return made;
}

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
    await to.transfer.importCheckpoint(zip);
    expect(to.adopted).toEqual([{ ...record, isRunning: false }]);
    expect(await to.files.readText("/runs/calc/config.json")).toBe('{"seed":7}');
    expect(await to.files.readText("/runs/calc/checkpoints/step_2/config.json")).toBe('{"model_type":"llama"}');
    expect(await to.files.exists("/runs/calc/old.txt")).toBe(false);
    expect((await to.files.list("/runs/calc/checkpoints/step_2")).map(({ name }) => name)).toEqual([
      "config.json",
      "model.safetensors",
      "state.json",
    ]);
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
    await again.transfer.importRun("calc", [file("mine/config.json", "{}"), file("mine/store.sqlite", "db")]);
    expect(await again.files.readText("/runs/calc/config.json")).toBe("{}");
    expect(text(again.databases.get("/runs/calc/store.sqlite"))).toBe("db");
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
    expect(await refused(transfer.importRun("calc", [file("config.json", "{}"), file("../x", "")]))).toBe("file_path");
    expect(await refused(transfer.exportCheckpoint())).toBe("no_run");
    expect(await refused(tab().transfer.exportCheckpoint())).toBe("no_checkpoint");
  });
});
