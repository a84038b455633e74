import { asLeydenError, EnvironmentError } from "../../core/errors.ts";
import type { BrowserSqlite } from "../../platform/wasm_sqlite.ts";
import type { Files } from "../../schema/files.ts";
import { bytesOf, type Folder, safePath } from "./folder_archive.ts";
import { arrivingFolder } from "./tab_places.ts";

/** A database that comes with a folder; without `bytes` there is none any more. */
export interface ArrivingStore {
  readonly path: string;
  readonly bytes?: Folder[string] | undefined;
  /** The write-ahead log that was found beside it. */
  readonly log?: Folder[string] | undefined;
}

/** What a swap that has begun is about: enough to undo it. */
interface SwapNote {
  readonly target: string;
  /** Path of the database that belongs to the folder; null: none does. */
  readonly store: string | null;
}

/** What is used of the tab's databases. */
export type SwapDatabases = Pick<BrowserSqlite, "exists" | "exportFile" | "importFile" | "remove">;

/** Opens a database as a run's records and closes it again. @throws LeydenError when it holds none that can be read */
export type StoreCheck = (path: string) => Promise<void>;

const arrivingStore = `${arrivingFolder}/store.sqlite`;

/**
 * Puts a folder, with a database where one belongs to it, in another one's place: all of it or nothing. What is new waits
 * beside it until it is whole, what is there is copied, and a note stands from the first change to the last: while there is
 * a note, what was there is put back, after a crash at the next opening. One swap at a time.
 */
export class FolderSwap {
  private readonly files: Files;
  private readonly sqlite: SwapDatabases;
  private readonly check: StoreCheck;
  private readonly arriving: string;
  private readonly kept: string;
  private readonly keptStore: string;
  private readonly note: string;

  /** `check` is asked of every database that arrives. */
  constructor(files: Files, sqlite: SwapDatabases, check: StoreCheck) {
    this.files = files;
    this.sqlite = sqlite;
    this.check = check;
    this.arriving = files.join(arrivingFolder, "new");
    this.kept = files.join(arrivingFolder, "kept");
    this.keptStore = files.join(arrivingFolder, "kept.sqlite");
    this.note = files.join(arrivingFolder, "swap.json");
  }

  /**
   * Replaces the folder at `target`; when that fails, what was there is as it was.
   * @throws FormatError "file_path", "store_file"; as `check`; EnvironmentError "disk_full", "file_failed"; "swap_unfinished" when
   * what was there could not be put back yet
   */
  async place(target: string, folder: Folder, store: ArrivingStore | null = null): Promise<void> {
    await this.settle();
    try {
      await this.stage(folder, store);
      await this.keep({ target, store: store?.path ?? null });
      await this.files.remove(target);
      await this.files.rename(this.arriving, target);
      if (store !== null) await this.placeStore(store.path);
      await this.files.remove(this.note);
    } catch (thrown) {
      await this.undo(target, thrown);
      throw thrown;
    }
    // It is in its place: what could not be cleared is cleared before the next swap.
    await this.settle().catch(() => {});
  }

  /** Puts back what a swap that was cut off had begun to replace, and clears what it left. */
  async settle(): Promise<void> {
    if (await this.files.exists(this.note)) await this.putBack(await this.noted());
    if (this.sqlite.exists(arrivingStore)) this.sqlite.remove(arrivingStore);
    await this.files.remove(arrivingFolder);
  }

  /** Reads everything that arrives, and opens its database. */
  private async stage(folder: Folder, store: ArrivingStore | null): Promise<void> {
    const { files } = this;
    await files.makeFolder(this.arriving);
    for (const [path, file] of Object.entries(folder)) {
      await files.write(files.join(this.arriving, safePath(path)), await bytesOf(file));
    }
    if (store?.bytes === undefined) return;
    const log = store.log === undefined ? undefined : await bytesOf(store.log);
    await this.sqlite.importFile(arrivingStore, await bytesOf(store.bytes), log);
    await this.check(arrivingStore);
  }

  /** Copies what is there; from the note on it is put back unless the note is removed. */
  private async keep(note: SwapNote): Promise<void> {
    const { files, sqlite } = this;
    if (await files.exists(note.target)) await files.copy(note.target, this.kept);
    if (note.store !== null && sqlite.exists(note.store)) {
      const bytes = this.readable(note.store);
      if (bytes !== null) await files.write(this.keptStore, bytes);
    }
    await files.write(this.note, JSON.stringify(note));
  }

  /** The bytes of a database; null for one that is damaged: it must be possible to replace that. */
  private readable(store: string): Uint8Array | null {
    try {
      return this.sqlite.exportFile(store);
    } catch {
      return null;
    }
  }

  private async placeStore(path: string): Promise<void> {
    const { sqlite } = this;
    sqlite.remove(path);
    if (sqlite.exists(arrivingStore)) await sqlite.importFile(path, sqlite.exportFile(arrivingStore));
  }

  private async putBack({ target, store }: SwapNote): Promise<void> {
    const { files, sqlite } = this;
    await files.remove(target);
    if (await files.exists(this.kept)) await files.copy(this.kept, target);
    if (store !== null) {
      sqlite.remove(store);
      if (await files.exists(this.keptStore)) await sqlite.importFile(store, await files.read(this.keptStore));
    }
    await files.remove(this.note);
  }

  private async undo(target: string, thrown: unknown): Promise<void> {
    try {
      await this.settle();
    } catch (cause) {
      const why = `${asLeydenError(thrown).message} ${asLeydenError(cause).message}`;
      const message = `${target} could not be replaced, and what was there is not back in its place yet: ${why}`;
      const advice = "Reload the page: it is put back then. If it says this again, delete what you no longer need.";
      throw new EnvironmentError("swap_unfinished", message, { do: advice, cause });
    }
  }

  private async noted(): Promise<SwapNote> {
    return JSON.parse(await this.files.readText(this.note)) as SwapNote;
  }
}
