import { strToU8 } from "fflate";
import { FormatError } from "../../core/errors.ts";
import { RunFolder } from "../../experiment/run_folder.ts";
import type { BrowserSqlite } from "../../platform/wasm_sqlite.ts";
import type { Files } from "../../schema/files.ts";
import { isExportable, RunPhaseError } from "../../schema/run_control.ts";
import { arrivingRun, newestUpdate, parsedConfig } from "./arriving_run.ts";
import { offeredExperiments, tabExperiment } from "./experiments.ts";
import { chosenFiles, type Folder, folderBytes, textOf, unzipped, zipped } from "./folder_archive.ts";
import type { FolderSwap } from "./folder_swap.ts";
import { importRoom, withinRoom } from "./import_room.ts";
import type { TabControl } from "./tab_control.ts";
import type {
  ArrivingCheckpoint,
  ArrivingModel,
  ArrivingRun,
  KeptThings,
  TabArchive,
  TabFile,
} from "./tab_messages.ts";
import { importedModelFolder, runFolderOf, storePathOf } from "./tab_places.ts";
import { parseRecord, recordName, type TabRecord } from "./tab_record.ts";

/** What a model folder has at least. */
const modelNames = ["config.json", "tokenizer.json"];
/** Logs of attempts stay where they were: the store has what was said. */
const leftOut = ["attempts"];
const storeName = "store.sqlite";
/** What SQLite keeps beside a database while it is open, and where a program was killed. */
const storeLogName = `${storeName}-wal`;
const storeIndexName = `${storeName}-shm`;
/** The run's configuration in an exported checkpoint, whose own config.json is the model's. */
const runConfigName = "run_config.json";

/** What is used of whoever knows which run is at work. */
export type TransferControl = Pick<TabControl, "shown" | "status" | "changeModel" | "adopt">;

/** Models, checkpoints and runs on their way into a tab and out of it. */
export class RunTransfer {
  private readonly files: Files;
  private readonly sqlite: Pick<BrowserSqlite, "exists" | "exportFile">;
  private readonly control: TransferControl;
  private readonly swap: FolderSwap;
  private readonly kept: () => Promise<KeptThings>;

  /** `swap` puts what arrives in its place; `kept` is what may be deleted where there is no room for it. */
  constructor(
    files: Files,
    sqlite: Pick<BrowserSqlite, "exists" | "exportFile">,
    control: TransferControl,
    swap: FolderSwap,
    kept: () => Promise<KeptThings>,
  ) {
    this.files = files;
    this.sqlite = sqlite;
    this.control = control;
    this.swap = swap;
    this.kept = kept;
  }

  /** What a model folder would replace. @throws FormatError as importModel */
  async arrivingModel(name: string, files: readonly TabFile[]): Promise<ArrivingModel> {
    const target = importedModelFolder(name);
    await modelFolder(name, files);
    return { replaces: await this.files.exists(target) };
  }

  /**
   * Keeps a model folder under a name, over what is kept there; returns its path.
   * @throws FormatError "kept_name"; "model_folder" naming what it lacks; RunPhaseError while a run uses what is there;
   * EnvironmentError "import_room"
   */
  async importModel(name: string, files: readonly TabFile[]): Promise<string> {
    const target = importedModelFolder(name);
    const folder = await modelFolder(name, files);
    const place = () => this.swap.place(target, folder);
    await this.control.changeModel(target, () => withinRoom(importRoom(folder), this.kept, place));
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
    const about = outward(record);
    folder[recordName] = strToU8(JSON.stringify(about));
    folder[runConfigName] = await this.files.read(this.files.join(runFolderOf(record.experiment), "config.json"));
    return { name: `${about.experiment}_step_${checkpoint.state.update}.zip`, zip: zipped(folder) };
  }

  /** What a checkpoint's archive tells, before it is brought in. @throws as importCheckpoint */
  async arrivingCheckpoint(zip: Uint8Array): Promise<ArrivingCheckpoint> {
    const { record, update } = await exportedCheckpoint(zip);
    const { experiment } = record;
    return { experiment, update, replaces: await this.keepsRun(experiment) };
  }

  /**
   * Puts an exported checkpoint in its run's place.
   * @throws FormatError "zip", "tab_record", "checkpoint_damaged"; EnvironmentError "import_room"
   */
  async importCheckpoint(zip: Uint8Array): Promise<void> {
    const { record, run } = await exportedCheckpoint(zip);
    await this.adopt({ ...record, isRunning: false }, run);
  }

  /**
   * The folder of an experiment's run, its store included; by default that of the run that is shown.
   * @throws FormatError "no_run"; RunPhaseError while it is at work: what is read would be of different moments
   */
  async exportRun(experiment: string = this.shown().experiment): Promise<TabArchive> {
    if (!(await this.keepsRun(experiment))) throw noRun();
    const { phase } = this.control.status();
    const isShown = this.control.shown?.experiment === experiment;
    if (isShown && !isExportable(phase)) throw new RunPhaseError("be exported", phase, "Pause it first.");
    // The store comes last, so that it has all that the newest checkpoint counts on.
    const folder = await folderBytes(this.files, runFolderOf(experiment), leftOut);
    const { sqlite } = this;
    if (sqlite.exists(storePathOf(experiment))) folder[storeName] = sqlite.exportFile(storePathOf(experiment));
    return { name: `${experiment}_run.zip`, zip: zipped(folder) };
  }

  /** What the files of a run tell, before it is brought in. @throws FormatError "run_folder", "zip", "file_path" */
  async arrivingRun(files: readonly TabFile[]): Promise<ArrivingRun> {
    const run = await arrivingRun(await chosenFiles(files));
    const kept = await Promise.all(offeredExperiments.map(({ id }) => this.keepsRun(id)));
    return { ...run, kept: offeredExperiments.filter((_, index) => kept[index]).map(({ id }) => id) };
  }

  /**
   * Puts a run's folder in an experiment's place. @throws FormatError "run_folder", "store_file"; EnvironmentError
   * "import_room"
   */
  async importRun(experiment: string, files: readonly TabFile[]): Promise<void> {
    const folder = await chosenFiles(files);
    await arrivingRun(folder);
    const brought = Object.entries(folder).filter(
      ([path]) => path !== storeIndexName && !leftOut.some((name) => path.startsWith(`${name}/`)),
    );
    await this.adopt(
      { format: 1, experiment, overrides: {}, reward: "", isRunning: false },
      Object.fromEntries(brought),
    );
  }

  private shown(): TabRecord {
    const record = this.control.shown;
    if (record !== null) return record;
    throw noRun();
  }

  private adopt(record: TabRecord, { [storeName]: bytes, [storeLogName]: log, ...folder }: Folder): Promise<void> {
    const store = { path: storePathOf(record.experiment), bytes, log };
    const target = runFolderOf(record.experiment);
    const place = () => this.swap.place(target, folder, store);
    return this.control.adopt(record, () => withinRoom(importRoom(folder, store), this.kept, place));
  }

  private keepsRun(experiment: string): Promise<boolean> {
    return this.files.exists(runFolderOf(experiment));
  }
}

function noRun(): FormatError {
  return new FormatError("no_run", "There is no run to export.", { do: "Start one." });
}

/** The files of a model. @throws FormatError "model_folder" naming what it lacks */
async function modelFolder(name: string, files: readonly TabFile[]): Promise<Folder> {
  const folder = await chosenFiles(files);
  const lacking = modelNames.filter((wanted) => folder[wanted] === undefined);
  const hasWeights = Object.keys(folder).some((path) => path.endsWith(".safetensors"));
  if (!hasWeights) lacking.push("*.safetensors");
  if (lacking.length > 0) {
    throw new FormatError("model_folder", `The folder ${name} lacks ${lacking.join(", ")}.`, {
      do: "Choose the folder of a model as Hugging Face lays it out.",
      data: { lacking },
    });
  }
  return folder;
}

/**
 * What is in a checkpoint's archive; `run`: as a run's folder. @throws FormatError "zip", "tab_record", "run_folder",
 * "checkpoint_damaged"
 */
async function exportedCheckpoint(zip: Uint8Array): Promise<{ record: TabRecord; update: number; run: Folder }> {
  const folder = unzipped(zip);
  if (Object.keys(folder).some((path) => path.startsWith("checkpoints/"))) {
    throw new FormatError("tab_record", "The archive holds a whole run, not one checkpoint.", {
      do: 'Bring it with "Import a run".',
    });
  }
  const { [recordName]: about, [runConfigName]: config, ...checkpoint } = folder;
  const record = parseRecord(await textOf(about), recordName);
  const { update } = stateOf(await textOf(checkpoint["state.json"]));
  const run: Folder = {};
  for (const [path, file] of Object.entries(checkpoint)) run[`checkpoints/step_${update}/${path}`] = file;
  await newestUpdate(run);
  if (config !== undefined) {
    parsedConfig(await textOf(config), runConfigName);
    run["config.json"] = config;
  }
  return { record, update, run };
}

/** A record as another tab takes it up: nothing is at work, and a lesson's run is one of its experiment. */
function outward({ isPaused: _paused, opening: _opening, ...record }: TabRecord): TabRecord {
  const { lessonsOf = record.experiment } = tabExperiment(record.experiment);
  return { ...record, experiment: lessonsOf, isRunning: false };
}

function stateOf(text: string): { update: number } {
  try {
    const { update } = JSON.parse(text) as { update?: unknown };
    if (Number.isSafeInteger(update) && (update as number) >= 0) return { update: update as number };
  } catch {
    // Said below.
  }
  throw new FormatError("checkpoint_damaged", "The archive has no readable state.json.", {
    do: "Choose a checkpoint that this page exported.",
  });
}
