import { strToU8, unzipSync, zipSync } from "fflate";
import { FormatError } from "../../core/errors.ts";
import { RunFolder } from "../../experiment/run_folder.ts";
import type { Files } from "../../schema/files.ts";
import type { TabControl } from "./tab_control.ts";
import type { TabArchive, TabFile } from "./tab_messages.ts";
import { importedModelFolder, runFolderOf, storePathOf } from "./tab_places.ts";
import { parseRecord, recordName, type TabRecord } from "./tab_record.ts";
import type { TabParts } from "./tab_run.ts";

/** What a model folder has at least. */
const modelNames = ["config.json", "tokenizer.json"];
/** Logs of attempts stay where they were: the store has what was said. */
const leftOut = ["attempts"];
const storeName = "store.sqlite";
/** The run's configuration in an exported checkpoint, whose own config.json is the model's. */
const runConfigName = "run_config.json";

type Folder = Record<string, Uint8Array>;

/** Files of a folder, those below it too, by their paths in it. */
async function folderBytes(files: Files, folder: string, skipped: readonly string[] = []): Promise<Folder> {
  const out: Folder = {};
  for (const { name, kind } of await files.list(folder)) {
    if (skipped.includes(name)) continue;
    const path = files.join(folder, name);
    if (kind === "file") out[name] = await files.read(path);
    else for (const [rest, bytes] of Object.entries(await folderBytes(files, path))) out[`${name}/${rest}`] = bytes;
  }
  return out;
}

function zipped(folder: Folder): Uint8Array {
  // Weights hardly get smaller, and packing them would take seconds.
  const entries = Object.entries(folder).map(([path, bytes]): [string, [Uint8Array, { level: 0 | 6 }]] => [
    path,
    [bytes, { level: /\.(safetensors|sqlite)$/.test(path) ? 0 : 6 }],
  ]);
  return zipSync(Object.fromEntries(entries));
}

function unzipped(zip: Uint8Array): Folder {
  try {
    return Object.fromEntries(Object.entries(unzipSync(zip)).filter(([path]) => !path.endsWith("/")));
  } catch (cause) {
    throw new FormatError("zip", "The file is no zip archive that can be read.", { do: "Choose another file.", cause });
  }
}

/** Paths from outside must not lead out of their folder. @throws FormatError "file_path" */
function safePath(path: string): string {
  const parts = path.split("/").filter((part) => part !== "" && part !== ".");
  if (parts.length > 0 && !parts.includes("..") && !path.includes("\\")) return parts.join("/");
  throw new FormatError("file_path", `The path "${path}" leads out of its folder.`, { do: "Choose a plain folder." });
}

/** The same files without a folder that all of them are in. */
function withoutTop(folder: Folder): Folder {
  const entries = Object.entries(folder).map(([path, bytes]): [string, Uint8Array] => [safePath(path), bytes]);
  const [top = ""] = entries[0]?.[0].split("/") ?? [];
  const isCommon = entries.every(([path]) => path.startsWith(`${top}/`));
  return Object.fromEntries(isCommon ? entries.map(([path, bytes]) => [path.slice(top.length + 1), bytes]) : entries);
}

async function bytesOf(files: readonly TabFile[]): Promise<Folder> {
  const all = files.map(async ({ path, file }) => [path, new Uint8Array(await file.arrayBuffer())] as const);
  return withoutTop(Object.fromEntries(await Promise.all(all)));
}

/** Models, checkpoints and runs on their way into a tab and out of it. */
export class RunTransfer {
  private readonly parts: TabParts;
  private readonly control: TabControl;

  constructor(parts: TabParts, control: TabControl) {
    this.parts = parts;
    this.control = control;
  }

  /** Keeps a model folder under a name; returns its path. @throws FormatError "model_folder" naming what it lacks */
  async importModel(name: string, files: readonly TabFile[]): Promise<string> {
    const folder = await bytesOf(files);
    const lacking = modelNames.filter((wanted) => folder[wanted] === undefined);
    const hasWeights = Object.keys(folder).some((path) => path.endsWith(".safetensors"));
    if (!hasWeights) lacking.push("*.safetensors");
    if (lacking.length > 0) {
      throw new FormatError("model_folder", `The folder ${name} lacks ${lacking.join(", ")}.`, {
        do: "Choose the folder of a model as Hugging Face lays it out.",
        data: { lacking },
      });
    }
    const target = importedModelFolder(name);
    await this.replace(target, folder);
    return target;
  }

  /** True when the run that is shown has a checkpoint; a damaged one counts, since its export says what is wrong. */
  async hasCheckpoint(): Promise<boolean> {
    const { shown } = this.control;
    return shown !== null && (await new RunFolder(this.files, runFolderOf(shown.experiment)).hasCheckpoint());
  }

  /** The newest checkpoint of the run that is shown. @throws FormatError "no_checkpoint" */
  async exportCheckpoint(): Promise<TabArchive> {
    const record = this.shown();
    const checkpoint = await new RunFolder(this.files, runFolderOf(record.experiment)).latestCheckpoint();
    if (checkpoint === null) {
      throw new FormatError("no_checkpoint", "The run has no checkpoint yet.", { do: "Wait for its first update." });
    }
    const folder = await folderBytes(this.files, checkpoint.folder);
    folder[recordName] = strToU8(JSON.stringify({ ...record, isRunning: false }));
    folder[runConfigName] = await this.files.read(this.files.join(runFolderOf(record.experiment), "config.json"));
    return { name: `${record.experiment}_step_${checkpoint.state.update}.zip`, zip: zipped(folder) };
  }

  /** Puts an exported checkpoint in its run's place. @throws FormatError "zip", "tab_record", "checkpoint_damaged" */
  async importCheckpoint(zip: Uint8Array): Promise<void> {
    const folder = withoutTop(unzipped(zip));
    const record = parseRecord(new TextDecoder().decode(folder[recordName] ?? new Uint8Array()), recordName);
    const { [recordName]: _, [runConfigName]: config, ...checkpoint } = folder;
    const { update } = stateOf(folder["state.json"]);
    const inRun = Object.entries(checkpoint).map(([path, bytes]): [string, Uint8Array] => [
      `checkpoints/step_${update}/${path}`,
      bytes,
    ]);
    if (config !== undefined) inRun.push(["config.json", config]);
    await this.adopt({ ...record, isRunning: false }, Object.fromEntries(inRun));
  }

  /** The folder of the run that is shown, its store included. @throws FormatError "no_run" */
  async exportRun(): Promise<TabArchive> {
    const { experiment } = this.shown();
    const folder = await folderBytes(this.files, runFolderOf(experiment), leftOut);
    const { sqlite } = this.parts;
    if (sqlite.exists(storePathOf(experiment))) folder[storeName] = sqlite.exportFile(storePathOf(experiment));
    return { name: `${experiment}_run.zip`, zip: zipped(folder) };
  }

  /** Puts a run's folder in an experiment's place. @throws FormatError "run_folder", "store_file" */
  async importRun(experiment: string, files: readonly TabFile[]): Promise<void> {
    const [only] = files;
    const isZip = files.length === 1 && only !== undefined && only.path.endsWith(".zip");
    const folder = isZip ? withoutTop(unzipped(new Uint8Array(await only.file.arrayBuffer()))) : await bytesOf(files);
    if (folder["config.json"] === undefined) {
      throw new FormatError("run_folder", "The folder holds no run: it has no config.json.", {
        do: "Choose the folder that leyden train --out named.",
      });
    }
    await this.adopt({ format: 1, experiment, overrides: {}, reward: "", isRunning: false }, folder);
  }

  private get files(): Files {
    return this.parts.platform.files;
  }

  private shown(): TabRecord {
    const record = this.control.shown;
    if (record !== null) return record;
    throw new FormatError("no_run", "There is no run to export.", { do: "Start one." });
  }

  private async adopt(record: TabRecord, { [storeName]: store, ...folder }: Folder): Promise<void> {
    await this.control.adopt(record, async () => {
      const { sqlite } = this.parts;
      const path = storePathOf(record.experiment);
      sqlite.remove(path);
      await this.replace(runFolderOf(record.experiment), folder);
      if (store !== undefined) await sqlite.importFile(path, store);
    });
  }

  private async replace(target: string, folder: Folder): Promise<void> {
    await this.files.remove(target);
    for (const [path, bytes] of Object.entries(folder)) {
      await this.files.write(this.files.join(target, safePath(path)), bytes);
    }
  }
}

function stateOf(bytes: Uint8Array | undefined): { update: number } {
  try {
    const { update } = JSON.parse(new TextDecoder().decode(bytes)) as { update?: unknown };
    if (Number.isSafeInteger(update) && (update as number) >= 0) return { update: update as number };
  } catch {
    // Said below.
  }
  throw new FormatError("checkpoint_damaged", "The archive has no readable state.json.", {
    do: "Choose a checkpoint that this page exported.",
  });
}
