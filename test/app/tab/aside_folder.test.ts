// A folder and its database out of their place and back: whole at any moment that a page may go at, and when it goes again.
import { strFromU8, strToU8 } from "fflate";
import { describe, expect, it } from "vitest";
import { type AsideDatabases, AsideFolder } from "../../../src/app/tab/aside_folder.ts";
import { FormatError } from "../../../src/core/errors.ts";
import { memoryFiles } from "../../../src/platform/memory_files.ts";
import type { Files } from "../../../src/schema/files.ts";

const run = "/runs/calc";
const store = `${run}/store.sqlite`;
const old = {
  "/runs/calc/checkpoints/step_1/state.json": "{}",
  "/runs/calc/config.json": "old",
  [store]: "old records",
};

/** What a page does on its disk until it is gone: from change `last` on nothing happens any more. */
class Disk {
  readonly files: Files = memoryFiles();
  readonly databases = new Map<string, Uint8Array>();
  changes = 0;

  /** Files and databases as a new page has them. */
  page(last = Number.POSITIVE_INFINITY): { files: Files; sqlite: AsideDatabases; aside: AsideFolder } {
    this.changes = 0;
    const gone = new Error("The page has gone.");
    const change = (): void => {
      if (this.changes >= last) throw gone;
      this.changes += 1;
    };
    const { databases } = this;
    const files: Files = { ...this.files };
    for (const name of ["write", "append", "makeFolder", "copy", "rename", "remove"] as const) {
      const work = this.files[name] as (...args: unknown[]) => Promise<void>;
      files[name] = async (...args: unknown[]) => {
        change();
        await work(...args);
      };
    }
    const sqlite: AsideDatabases = {
      exists: (path) => databases.has(path),
      exportFile(path) {
        const bytes = databases.get(path);
        if (bytes === undefined) throw new FormatError("file_missing", path);
        return bytes;
      },
      importFile: async (path, bytes) => {
        change();
        databases.set(path, bytes);
      },
      remove(path) {
        change();
        databases.delete(path);
      },
    };
    return { files, sqlite, aside: new AsideFolder(files, sqlite, "/aside") };
  }

  /** Every file and database by its path. */
  async contents(folder = "/"): Promise<Record<string, string>> {
    const out: Record<string, string> = {};
    for (const { name, kind } of await this.files.list(folder)) {
      const path = this.files.join(folder, name);
      if (kind === "file") out[path] = await this.files.readText(path);
      else Object.assign(out, await this.contents(path));
    }
    if (folder === "/") for (const [path, bytes] of this.databases) out[path] = strFromU8(bytes);
    return out;
  }
}

async function withRun(): Promise<Disk> {
  const disk = new Disk();
  for (const [path, text] of Object.entries(old)) {
    if (path === store) disk.databases.set(path, strToU8(text));
    else await disk.files.write(path, text);
  }
  return disk;
}

/** What takes the run's place: a file of the same name, another one, and a database. */
async function arrive({ files, sqlite }: ReturnType<Disk["page"]>): Promise<void> {
  await files.write(`${run}/config.json`, "new");
  await files.write(`${run}/metrics.jsonl`, "new");
  await sqlite.importFile(store, strToU8("new records"));
}

/** Replaces the run as far as its page gets. */
async function replaced(disk: Disk, last?: number): Promise<boolean> {
  const page = disk.page(last);
  try {
    await page.aside.take(run, store);
    await arrive(page);
    await page.aside.forget();
    return true;
  } catch {
    return false;
  }
}

const arrived = { [`${run}/config.json`]: "new", [`${run}/metrics.jsonl`]: "new", [store]: "new records" };

describe("a folder that is aside", () => {
  it("comes back when the page goes at any moment before something else stands there, and does not after it", async () => {
    const whole = await withRun();
    expect(await replaced(whole)).toBe(true);
    expect(await whole.contents()).toEqual(arrived);
    const { changes } = whole;
    expect(changes).toBeGreaterThan(10);
    // The last change but one removes the note.
    for (let last = 0; last < changes; last++) {
      const disk = await withRun();
      const isOver = await replaced(disk, last);
      expect(isOver, `${last}`).toBe(last === changes - 1);
      await disk.page().aside.putBack();
      expect(await disk.contents(), `${last}`).toEqual(isOver ? arrived : old);
    }
  });

  it("comes back whole when the page that puts it back goes too, at any moment", async () => {
    const disk = await withRun();
    const page = disk.page();
    await page.aside.take(run, store);
    await arrive(page);
    for (let last = 0; ; last++) {
      const left = new Disk();
      for (const [path, text] of Object.entries(await disk.contents())) {
        if (path === store) left.databases.set(path, strToU8(text));
        else await left.files.write(path, text);
      }
      const isDone = await left
        .page(last)
        .aside.putBack()
        .then(
          () => left.changes < last,
          () => false,
        );
      await left.page().aside.putBack();
      expect(await left.contents(), `${last}`).toEqual(old);
      if (isDone) break;
    }
  });

  it("is one at a time: what is still aside comes back before the next is taken", async () => {
    const disk = await withRun();
    await disk.files.write("/models/mine/config.json", "{}");
    const { aside } = disk.page();
    expect(await aside.take(run, store)).toBe(true);
    expect(await disk.files.exists(run)).toBe(false);
    expect(await aside.take("/models/mine", null)).toBe(true);
    expect(await disk.contents()).toMatchObject(old);
    await aside.putBack();
    expect(await disk.contents()).toEqual({ ...old, "/models/mine/config.json": "{}" });
  });

  it("leaves nothing where nothing was", async () => {
    const disk = new Disk();
    const page = disk.page();
    expect(await page.aside.take(run, store)).toBe(false);
    await arrive(page);
    await page.aside.putBack();
    expect(await disk.contents()).toEqual({});
  });
});
