/** A tab with files and databases in memory, from which runs and models are taken, and into which they are brought. */
import { strFromU8, strToU8 } from "fflate";
import { FolderSwap, type SwapDatabases } from "../../../src/app/tab/folder_swap.ts";
import { RunTransfer } from "../../../src/app/tab/run_transfer.ts";
import type { KeptThings, TabFile } from "../../../src/app/tab/tab_messages.ts";
import type { TabRecord } from "../../../src/app/tab/tab_record.ts";
import { memoryFiles } from "../../../src/platform/memory_files.ts";
import type { Files } from "../../../src/schema/files.ts";
import { idleRun, type RunPhase, RunPhaseError } from "../../../src/schema/run_control.ts";
import { runConfig } from "./run_configs.ts";

export const record: TabRecord = {
  format: 1,
  experiment: "calc",
  overrides: { "train.updates": 3 },
  reward: "",
  isRunning: true,
};

const usedModel = "/models/used";

/** What the tab says that it keeps. */
export const things: KeptThings = {
  isDurable: true,
  models: [
    { name: "mine", path: "/models/mine", sizeBytes: 9_000_000, inUse: false },
    { name: "used", path: usedModel, sizeBytes: 90_000_000, inUse: true },
  ],
  runs: [
    { experiment: "calc", update: 2, updates: 3, sizeBytes: 30_000_000, inUse: false, exportable: true },
    { experiment: "clerk", update: 2, updates: 3, sizeBytes: 1_000, inUse: false, exportable: true },
    { experiment: "vault", update: null, updates: null, sizeBytes: 20_000, inUse: false, exportable: true },
  ],
};

/** The tab, and what lies in it. */
export interface TransferRig {
  readonly files: Files;
  readonly databases: Map<string, Uint8Array>;
  /** What was put in place of its run. */
  readonly adopted: TabRecord[];
  readonly sqlite: SwapDatabases;
  readonly transfer: RunTransfer;
}

/** A tab with files and databases in memory; `adopted` is what was put in place of its run. */
export function tab(shown: TabRecord | null = record, phase: RunPhase = "stopped"): TransferRig {
  const files = memoryFiles();
  const databases = new Map<string, Uint8Array>();
  const adopted: TabRecord[] = [];
  const sqlite = {
    exists: (path: string) => databases.has(path),
    exportFile: (path: string) => databases.get(path) ?? new Uint8Array(),
    importFile: async (path: string, bytes: Uint8Array, log?: Uint8Array) =>
      void databases.set(path, strToU8(strFromU8(bytes) + strFromU8(log ?? new Uint8Array()))),
    remove: (path: string) => void databases.delete(path),
  };
  const control = {
    shown,
    status: () => ({ ...idleRun, phase }),
    changeModel: async (path: string, change: () => Promise<void>) => {
      if (path === usedModel) throw new RunPhaseError("lose its model", phase, "Stop it first.");
      await change();
    },
    async adopt(taken: TabRecord, place: () => Promise<void>) {
      await place();
      adopted.push(taken);
    },
  };
  const swap = new FolderSwap(files, sqlite, async () => {});
  const kept = async () => things;
  return { files, databases, adopted, sqlite, transfer: new RunTransfer(files, sqlite, control, swap, kept) };
}

/** Every file by its path. */
export async function contents(files: Files, folder = "/"): Promise<Record<string, string>> {
  const out: Record<string, string> = {};
  for (const { name, kind } of await files.list(folder)) {
    const path = files.join(folder, name);
    if (kind === "file") out[path] = await files.readText(path);
    else Object.assign(out, await contents(files, path));
  }
  return out;
}

export const file = (path: string, text: string): TabFile => ({ path, file: new Blob([text]) });
export const text = (bytes: Uint8Array | undefined): string => new TextDecoder().decode(bytes);

/** The state.json of a checkpoint after so many updates, with `part` of it something else. */
export function stateText(update: number, part: Readonly<Record<string, unknown>> = {}): string {
  const state = { format: 1, update, version: update, optimizerSteps: update, cursor: 4, carryOver: [], storeSeq: 9 };
  return JSON.stringify({ ...state, configSha256: "c", weightsSha256: "w", ...part });
}

/** The files of a checkpoint in its run's folder. */
export function checkpointFiles(update: number, state: string = stateText(update)): TabFile[] {
  const folder = `checkpoints/step_${update}`;
  return [file(`${folder}/state.json`, state), file(`${folder}/model.safetensors`, "weights")];
}

/** A run with a checkpoint of two updates. */
export async function withRun(phase?: RunPhase): Promise<TransferRig> {
  const made = tab(record, phase);
  const step = "/runs/calc/checkpoints/step_2";
  await made.files.write("/runs/calc/config.json", runConfig);
  await made.files.write("/runs/calc/metrics.jsonl", '{"step":1}\n');
  await made.files.write("/runs/calc/attempts/a/0/stdout.log", "said");
  await made.files.write(`${step}/state.json`, stateText(2));
  await made.files.write(`${step}/config.json`, '{"model_type":"llama"}');
  await made.files.write(`${step}/model.safetensors`, "weights");
  made.databases.set("/runs/calc/store.sqlite", strToU8("database"));
  return made;
}
