import type { BrowserSqlite } from "../../platform/wasm_sqlite.ts";
import type { Files } from "../../schema/files.ts";

/** What is used of the tab's databases. */
export type AsideDatabases = Pick<BrowserSqlite, "exists" | "exportFile" | "importFile" | "remove">;

/** What is aside: enough to put it back. */
interface AsideNote {
  readonly target: string;
  /** Path of the database that belongs to the folder; null: none does. */
  readonly store: string | null;
  /**
   * `leaving`: some of it is still in its place, and nothing else is. `away`: what is in its place is something else.
   * `returning`: as `leaving`, but for the database, which may be something else.
   */
  readonly stage: "leaving" | "away" | "returning";
}

/**
 * A folder, with a database where one belongs to it, out of its place until it is sure that something else stands there. It
 * is moved file by file, which takes the room of its largest file and of its database a second time. A note stands from the
 * first change to the last: after a crash `putBack` puts back what the note is about. One folder at a time.
 */
export class AsideFolder {
  private readonly files: Files;
  private readonly sqlite: AsideDatabases;
  private readonly folder: string;
  private readonly kept: string;
  private readonly keptStore: string;
  private readonly notePath: string;

  /** `folder` holds what is aside, and nothing else. */
  constructor(files: Files, sqlite: AsideDatabases, folder: string) {
    this.files = files;
    this.sqlite = sqlite;
    this.folder = folder;
    this.kept = files.join(folder, "kept");
    this.keptStore = files.join(folder, "kept.sqlite");
    this.notePath = files.join(folder, "aside.json");
  }

  /**
   * Frees the place of a folder and of its database, after putting back what is still aside; true when something was there.
   * @throws EnvironmentError "disk_full", "file_failed"; `putBack` then restores what has been moved
   */
  async take(target: string, store: string | null): Promise<boolean> {
    const { files, sqlite } = this;
    await this.putBack();
    await files.remove(this.folder);
    const isFolder = await files.exists(target);
    const isStore = store !== null && sqlite.exists(store);
    await this.note({ target, store, stage: "leaving" });
    if (isStore) {
      const bytes = this.readable(store);
      if (bytes !== null) await files.write(this.keptStore, bytes);
    }
    if (isFolder) await moveFolder(files, target, this.kept);
    await this.note({ target, store, stage: "away" });
    await files.remove(target);
    if (isStore) sqlite.remove(store);
    return isFolder || isStore;
  }

  /** True while something is aside, or on its way. */
  isTaken(): Promise<boolean> {
    return this.files.exists(this.notePath);
  }

  /** Puts back what is aside, over whatever stands in its place; nothing where nothing is aside. */
  async putBack(): Promise<void> {
    const { files, sqlite } = this;
    if (await files.exists(this.notePath)) {
      const note = JSON.parse(await files.readText(this.notePath)) as AsideNote;
      const { target, store, stage } = note;
      if (stage === "away") {
        await files.remove(target);
        // From here on what is in its place is its own, and stays when this is cut off.
        await this.note({ ...note, stage: "returning" });
      }
      if (await files.exists(this.kept)) await moveFolder(files, this.kept, target);
      if (store !== null && stage !== "leaving") {
        sqlite.remove(store);
        if (await files.exists(this.keptStore)) await sqlite.importFile(store, await files.read(this.keptStore));
      }
    }
    await this.forget();
  }

  /** What is aside is needed no more. From the removal of its note on it does not come back. */
  async forget(): Promise<void> {
    await this.files.remove(this.notePath);
    // What cannot be cleared now is cleared before the next folder is taken.
    await this.files.remove(this.folder).catch(() => {});
  }

  private async note(note: AsideNote): Promise<void> {
    await this.files.write(this.notePath, JSON.stringify(note));
  }

  /** The bytes of a database; null for one that is damaged: it must be possible to replace that. */
  private readable(store: string): Uint8Array | null {
    try {
      return this.sqlite.exportFile(store);
    } catch {
      return null;
    }
  }
}

/**
 * Moves the files of a folder into another one, over what has their names. Each is whole in one place or the other at any
 * moment, and takes room twice only while it is moved.
 */
export async function moveFolder(files: Files, from: string, to: string): Promise<void> {
  await files.makeFolder(to);
  for (const { name, kind } of await files.list(from)) {
    const [source, target] = [files.join(from, name), files.join(to, name)];
    if (kind === "folder") await moveFolder(files, source, target);
    else await files.rename(source, target);
  }
  await files.remove(from);
}
