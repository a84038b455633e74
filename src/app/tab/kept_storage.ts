import { asLeydenError, FormatError } from "../../core/errors.ts";
import { readRunConfig } from "../../experiment/config.ts";
import { RunFolder } from "../../experiment/run_folder.ts";
import type { BrowserSqlite } from "../../platform/wasm_sqlite.ts";
import type { ExperimentConfig } from "../../schema/experiment.ts";
import type { Files } from "../../schema/files.ts";
import { isAlive, isExportable } from "../../schema/run_control.ts";
import type { TabControl } from "./tab_control.ts";
import type { KeptModel, KeptRun, KeptThings } from "./tab_messages.ts";
import { idOfFolder, importedModelFolder, importedModels, runFolderOf, runFolders, storePathOf } from "./tab_places.ts";

/** Bytes in a folder; what has gone since it was found, as a run at work renames and deletes, takes nothing. */
async function folderSize(files: Files, folder: string): Promise<number> {
  const entries = await files.list(folder).catch((thrown: unknown) => {
    if (asLeydenError(thrown).code === "file_missing") return [];
    throw thrown;
  });
  const sizes = entries.map(({ name, kind, sizeBytes }) =>
    kind === "file" ? sizeBytes : folderSize(files, files.join(folder, name)),
  );
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
}

/** What is used of the tab's databases. */
export type KeptDatabases = Pick<BrowserSqlite, "isDurable" | "exists" | "sizeBytes" | "remove">;

/** What is used of whoever knows which run is at work. */
export type KeptControl = Pick<TabControl, "shown" | "status" | "usesModel" | "changeModel" | "discard">;

/** Models and runs in a tab's storage: what is there, how large it is, and how it is deleted. */
export class KeptStorage {
  private readonly files: Files;
  private readonly sqlite: KeptDatabases;
  private readonly control: KeptControl;

  constructor(files: Files, sqlite: KeptDatabases, control: KeptControl) {
    this.files = files;
    this.sqlite = sqlite;
    this.control = control;
  }

  async list(): Promise<KeptThings> {
    const [models, runs] = await Promise.all([this.models(), this.runs()]);
    return { models, runs, isDurable: this.sqlite.isDurable };
  }

  /** @throws RunPhaseError while a run uses it; FormatError "nothing_kept" */
  async deleteModel(name: string): Promise<void> {
    const path = importedModelFolder(name);
    await this.control.changeModel(path, async () => {
      await this.require(path, name);
      await this.files.remove(path);
    });
  }

  /** Deletes an experiment's run with its records. @throws RunPhaseError while it is at work; FormatError "nothing_kept" */
  async deleteRun(experiment: string): Promise<void> {
    await this.control.discard(experiment, async () => {
      await this.require(runFolderOf(experiment), experiment);
      this.sqlite.remove(storePathOf(experiment));
      await this.files.remove(runFolderOf(experiment));
    });
  }

  private async models(): Promise<KeptModel[]> {
    const models = (await this.idsIn(importedModels)).map(async (name): Promise<KeptModel> => {
      const path = importedModelFolder(name);
      return { name, path, sizeBytes: await folderSize(this.files, path), inUse: this.control.usesModel(path) };
    });
    return Promise.all(models);
  }

  private async runs(): Promise<KeptRun[]> {
    return Promise.all((await this.idsIn(runFolders)).map((id) => this.run(id)));
  }

  private async run(experiment: string): Promise<KeptRun> {
    const folder = runFolderOf(experiment);
    const [config, update, sizeBytes] = await Promise.all([
      this.configOf(folder),
      this.updateOf(folder),
      folderSize(this.files, folder),
    ]);
    const { phase } = this.control.status();
    const isShown = this.control.shown?.experiment === experiment;
    return {
      experiment,
      update,
      updates: config?.train.updates ?? null,
      sizeBytes: sizeBytes + this.storeSize(storePathOf(experiment)),
      inUse: isShown && isAlive(phase),
      exportable: !isShown || isExportable(phase),
    };
  }

  private async configOf(folder: string): Promise<ExperimentConfig | null> {
    // A damaged run is listed too: it is there to be deleted.
    return readRunConfig(this.files, folder).catch(() => null);
  }

  private updateOf(folder: string): Promise<number | null> {
    return new RunFolder(this.files, folder).latestCheckpoint().then(
      (checkpoint) => checkpoint?.state.update ?? 0,
      () => null,
    );
  }

  private storeSize(path: string): number {
    const { sqlite } = this;
    try {
      return sqlite.exists(path) ? sqlite.sizeBytes(path) : 0;
    } catch {
      // A damaged database: what it takes is not known, and deleting it frees that all the same.
      return 0;
    }
  }

  private async idsIn(folder: string): Promise<string[]> {
    if (!(await this.files.exists(folder))) return [];
    return (await this.files.list(folder)).filter(({ kind }) => kind === "folder").map(({ name }) => idOfFolder(name));
  }

  private async require(path: string, name: string): Promise<void> {
    if (await this.files.exists(path)) return;
    throw new FormatError("nothing_kept", `Nothing is kept as ${name}.`, { do: "Reload the page." });
  }
}
