import { asLeydenError, EnvironmentError } from "../../core/errors.ts";
import type { Files } from "../../schema/files.ts";
import { type AsideDatabases, AsideFolder, moveFolder } from "./aside_folder.ts";
import { bytesOf, type Folder, safePath } from "./folder_archive.ts";
import { arrivingFolder } from "./tab_places.ts";

/** A database that comes with a folder; without `bytes` there is none any more. */
export interface ArrivingStore {
  readonly path: string;
  readonly bytes?: Folder[string] | undefined;
  /** The write-ahead log that was found beside it. */
  readonly log?: Folder[string] | undefined;
}

/** What is used of the tab's databases. */
export type SwapDatabases = AsideDatabases;

/** Opens a database as a run's records and closes it again. @throws LeydenError when it holds none that can be read */
export type StoreCheck = (path: string) => Promise<void>;

const arrivingStore = `${arrivingFolder}/store.sqlite`;

/**
 * Puts a folder, with a database where one belongs to it, in another one's place: all of it or nothing. What is new waits
 * beside it until it is whole; what is there goes aside, and comes back unless the new one stands, after a crash at the
 * next opening. One swap at a time.
 */
export class FolderSwap {
  private readonly files: Files;
  private readonly sqlite: SwapDatabases;
  private readonly check: StoreCheck;
  private readonly arriving: string;
  /** Holds the path that what arrives is for. */
  private readonly notePath: string;
  private readonly aside: AsideFolder;

  /** `check` is asked of every database that arrives. */
  constructor(files: Files, sqlite: SwapDatabases, check: StoreCheck) {
    this.files = files;
    this.sqlite = sqlite;
    this.check = check;
    this.arriving = files.join(arrivingFolder, "new");
    this.notePath = files.join(arrivingFolder, "target.txt");
    this.aside = new AsideFolder(files, sqlite, files.join(arrivingFolder, "old"));
  }

  /**
   * Replaces the folder at `target`; when that fails, what was there is as it was.
   * @throws FormatError "file_path", "store_file"; as `check`; EnvironmentError "disk_full", "file_failed"; "swap_unfinished" when
   * what was there could not be put back yet
   */
  async place(target: string, folder: Folder, store: ArrivingStore | null = null): Promise<void> {
    await this.settle();
    try {
      await this.files.write(this.notePath, target);
      await this.stage(folder, store);
      await this.aside.take(target, store?.path ?? null);
      await moveFolder(this.files, this.arriving, target);
      if (store !== null) await this.placeStore(store.path);
      await this.aside.forget();
    } catch (thrown) {
      await this.undo(target, thrown);
      throw thrown;
    }
    // It is in its place: what could not be cleared is cleared before the next swap.
    await this.settle().catch(() => {});
  }

  /**
   * Puts back what a swap that was cut off had begun to replace, and clears what it left; returns its target, null without
   * one.
   */
  async settle(): Promise<string | null> {
    const target = await this.cutOff();
    await this.aside.putBack();
    if (this.sqlite.exists(arrivingStore)) this.sqlite.remove(arrivingStore);
    await this.files.remove(arrivingFolder);
    return target;
  }

  /**
   * What a swap was to replace that does not stand: after one that does, neither what arrived nor what was there is left.
   */
  private async cutOff(): Promise<string | null> {
    const { files, notePath } = this;
    if (!(await files.exists(notePath))) return null;
    const isLeft = (await files.exists(this.arriving)) || (await this.aside.isTaken());
    return isLeft ? files.readText(notePath) : null;
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

  private async placeStore(path: string): Promise<void> {
    const { sqlite } = this;
    if (sqlite.exists(arrivingStore)) await sqlite.importFile(path, sqlite.exportFile(arrivingStore));
  }

  private async undo(target: string, thrown: unknown): Promise<void> {
    try {
      await this.settle();
    } catch (cause) {
      throw unfinishedSwap(target, thrown, cause);
    }
  }
}

/** What was to be replaced is not back in its place: why it could not be replaced, and why it is not back. */
export function unfinishedSwap(target: string, thrown: unknown, cause: unknown): EnvironmentError {
  const why = `${asLeydenError(thrown).message} ${asLeydenError(cause).message}`;
  const message = `${target} could not be replaced, and what was there is not back in its place yet: ${why}`;
  const advice = "Reload the page: it is put back then. If it says this again, delete what you no longer need.";
  return new EnvironmentError("swap_unfinished", message, { do: advice, cause });
}
