// A folder and its database in another one's place: all of it, or what was there, also after a crash in the middle.
import { strFromU8, strToU8 } from "fflate";
import { describe, expect, it } from "vitest";
import { FolderSwap, type SwapDatabases } from "../../../src/app/tab/folder_swap.ts";
import { EnvironmentError, FormatError } from "../../../src/core/errors.ts";
import { memoryFiles } from "../../../src/platform/memory_files.ts";
import type { Files } from "../../../src/schema/files.ts";

const run = "/runs/calc";
const store = `${run}/store.sqlite`;
const arrival = { "config.json": strToU8("new"), "checkpoints/step_1/state.json": strToU8("{}") };

/** A run of calc with a configuration, a checkpoint and a database. */
async function place() {
  const files = memoryFiles();
  await files.write(`${run}/config.json`, "old");
  await files.write(`${run}/checkpoints/step_9/state.json`, "{}");
  const databases = new Map([[store, strToU8("old records")]]);
  const sqlite: SwapDatabases = {
    exists: (path) => databases.has(path),
    exportFile(path) {
      const bytes = databases.get(path);
      if (bytes === undefined) throw new FormatError("file_missing", path);
      return bytes;
    },
    async importFile(path, bytes, log) {
      if (strFromU8(bytes) === "no store") throw new FormatError("store_file", "none");
      databases.set(path, strToU8(strFromU8(bytes) + strFromU8(log ?? new Uint8Array())));
    },
    remove: (path) => void databases.delete(path),
  };
  const records = () => [...databases].map(([path, bytes]) => [path, strFromU8(bytes)]);
  /** As a page that is opened anew has it. */
  const opened = (check = async (_path: string) => {}) => new FolderSwap(files, sqlite, check);
  return { files, sqlite, databases, records, opened };
}

async function paths(files: Files, folder = "/"): Promise<string[]> {
  const inside = (await files.list(folder)).map(({ name, kind }) => {
    const path = files.join(folder, name);
    return kind === "file" ? [path] : paths(files, path);
  });
  return (await Promise.all(inside)).flat();
}

/** The kept run is there as it was, and nothing else is. */
async function expectOld({ files, records }: Awaited<ReturnType<typeof place>>): Promise<void> {
  expect(await paths(files)).toEqual([`${run}/checkpoints/step_9/state.json`, `${run}/config.json`]);
  expect(await files.readText(`${run}/config.json`)).toBe("old");
  expect(records()).toEqual([[store, "old records"]]);
  expect(await files.exists("/arriving")).toBe(false);
}

const full = new EnvironmentError("disk_full", "The browser's storage is full.");

describe("a folder in another one's place", () => {
  it("leaves nothing of that one, nor of the way there", async () => {
    const { files, records, opened } = await place();
    const log = strToU8("+log");
    await opened().place(run, arrival, { path: store, bytes: new Blob(["new"]), log });
    expect(await paths(files)).toEqual([`${run}/checkpoints/step_1/state.json`, `${run}/config.json`]);
    expect(records()).toEqual([[store, "new+log"]]);
    expect(await files.exists("/arriving")).toBe(false);
    await opened().place(run, arrival, { path: store });
    expect(records()).toEqual([]);
    await opened().place("/models/mine", arrival);
    expect(await files.readText("/models/mine/config.json")).toBe("new");
  });

  it("takes that of a damaged one: its database cannot be read, and need not be", async () => {
    const { sqlite, records, opened } = await place();
    const { exportFile } = sqlite;
    sqlite.exportFile = (path) => {
      if (path === store) throw new EnvironmentError("sql_failed", "malformed");
      return exportFile(path);
    };
    await opened().place(run, arrival, { path: store, bytes: strToU8("new") });
    expect(records()).toEqual([[store, "new"]]);
  });

  it("leaves the kept run as it was with a store that is none, or holds no records of a run", async () => {
    const kept = await place();
    const given = { path: store, bytes: strToU8("no store") };
    await expect(kept.opened().place(run, arrival, given)).rejects.toMatchObject({ code: "store_file" });
    await expectOld(kept);
    const other = kept.opened(async (path) => {
      expect(kept.records()).toContainEqual([path, "of another program"]);
      throw new EnvironmentError("store_version", "newer");
    });
    const foreign = { path: store, bytes: strToU8("of another program") };
    await expect(other.place(run, arrival, foreign)).rejects.toMatchObject({ code: "store_version" });
    await expectOld(kept);
  });

  it("leaves the kept run as it was when there is no room at any moment", async () => {
    // What it is for; two files and the database; a note, the database and two files of the kept run, a note; two files and
    // the database.
    const roomNeeded = 1 + 3 + 5 + 3;
    for (let room = 0; room <= roomNeeded; room++) {
      const kept = await place();
      const { files, sqlite } = kept;
      let used = 0;
      // What is put back finds room again: what had taken it is gone.
      const limited =
        <A extends unknown[]>(work: (...args: A) => Promise<void>) =>
        async (...args: A): Promise<void> => {
          if (used++ === room) throw full;
          await work(...args);
        };
      files.write = limited(files.write);
      files.copy = limited(files.copy);
      files.rename = limited(files.rename);
      sqlite.importFile = limited(sqlite.importFile);
      const work = kept.opened().place(run, arrival, { path: store, bytes: strToU8("new") });
      if (room < roomNeeded) {
        await expect(work).rejects.toBe(full);
        await expectOld(kept);
      } else {
        await work;
        expect(used).toBe(roomNeeded);
      }
    }
  });

  it("is put back at the next opening when it cannot be at once", async () => {
    const kept = await place();
    const { rename } = kept.files;
    kept.files.rename = async (from, to) => {
      if (from.startsWith("/arriving/")) throw full;
      await rename(from, to);
    };
    const given = { path: store, bytes: strToU8("new") };
    await expect(kept.opened().place(run, arrival, given)).rejects.toMatchObject({
      code: "swap_unfinished",
      message:
        "/runs/calc could not be replaced, and what was there is not back in its place yet: " +
        "The browser's storage is full. The browser's storage is full.",
    });
    expect(await paths(kept.files, run)).toEqual([]);
    kept.files.rename = rename;
    await kept.opened().settle();
    await expectOld(kept);
  });

  it("is gone after a crash where nothing was before", async () => {
    const { files, opened } = await place();
    const target = "/models/mine";
    const crash = new Promise<never>(() => {});
    const { rename } = files;
    const begun = Promise.withResolvers<void>();
    files.rename = async () => {
      await files.write(`${target}/config.json`, "half of it");
      begun.resolve();
      return crash;
    };
    void opened().place(target, arrival);
    await begun.promise;
    files.rename = rename;
    await opened().settle();
    expect([await files.exists(target), await files.exists("/arriving")]).toEqual([false, false]);
  });
});
