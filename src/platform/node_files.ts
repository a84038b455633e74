import { randomBytes } from "node:crypto";
import { cp, type FileHandle, mkdir, mkdtemp, open, readdir, readFile, rename, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { EnvironmentError, FormatError, type LeydenError } from "../core/errors.ts";
import type { FileEntry, Files } from "../schema/files.ts";

function fileError(action: string, path: string, thrown: unknown): LeydenError {
  const code = (thrown as { code?: unknown } | null)?.code;
  const detail = { cause: thrown, data: { path, system: code } };
  const isMade = action === "make" || action === "write";
  if (code === "EEXIST" || (code === "ENOTDIR" && isMade)) {
    const message = `Could not ${action} ${path}: a file is in a folder's place.`;
    return new FormatError("file_exists", message, { ...detail, do: "Name another folder." });
  }
  if (code === "ENOENT" || code === "ENOTDIR") {
    return new FormatError("file_missing", `There is no ${path}.`, { ...detail, do: "Check the path." });
  }
  if (code === "ENOSPC" || code === "EDQUOT") {
    const message = `The disk is full; ${path} was not written.`;
    return new EnvironmentError("disk_full", message, { ...detail, do: "Free some space, then resume the run." });
  }
  const reason = thrown instanceof Error ? thrown.message : String(thrown);
  const message = `Could not ${action} ${path}: ${reason}.`;
  return new EnvironmentError("file_failed", message, { ...detail, do: "Check the path and its permissions." });
}

async function attempt<T>(action: string, path: string, body: () => Promise<T>): Promise<T> {
  try {
    return await body();
  } catch (thrown) {
    throw fileError(action, path, thrown);
  }
}

async function withOpen<T>(path: string, flags: string, body: (file: FileHandle) => Promise<T>): Promise<T> {
  const file = await open(path, flags);
  try {
    return await body(file);
  } finally {
    await file.close();
  }
}

/** Flushes a folder's entry list, so that a rename in it survives a power cut; Windows has no such call. */
async function flushFolder(folder: string): Promise<void> {
  if (process.platform === "win32") return;
  await withOpen(folder, "r", (handle) => handle.sync());
}

async function writeAtomically(path: string, data: Uint8Array | string): Promise<void> {
  const folder = dirname(path);
  await mkdir(folder, { recursive: true });
  const temporary = `${path}.${randomBytes(6).toString("hex")}.tmp`;
  try {
    await withOpen(temporary, "wx", async (file) => {
      await file.writeFile(data);
      await file.sync();
    });
    await rename(temporary, path);
  } catch (thrown) {
    await rm(temporary, { force: true });
    throw thrown;
  }
  await flushFolder(folder);
}

async function readExactly(path: string, offset: number, length: number): Promise<Uint8Array> {
  const out = new Uint8Array(length);
  let done = 0;
  await withOpen(path, "r", async (file) => {
    while (done < length) {
      // One read call moves less than 2 GiB.
      const count = Math.min(length - done, 1 << 30);
      const { bytesRead } = await file.read(out, done, count, offset + done);
      if (bytesRead === 0) return;
      done += bytesRead;
    }
  });
  if (done === length) return out;
  const message = `${path} ends at byte ${offset + done}; bytes ${offset} to ${offset + length} were wanted.`;
  throw new FormatError("file_truncated", message, {
    do: "Copy or download the file again.",
    data: { path, offset, length, end: offset + done },
  });
}

async function readPart(path: string, offset: number, length: () => Promise<number>): Promise<Uint8Array> {
  try {
    return await readExactly(path, offset, await length());
  } catch (thrown) {
    throw thrown instanceof FormatError ? thrown : fileError("read", path, thrown);
  }
}

async function listFolder(folder: string): Promise<FileEntry[]> {
  const entries = await readdir(folder, { withFileTypes: true });
  const out = await Promise.all(
    entries.map(async (entry): Promise<FileEntry> => {
      // A link counts as what it points to; a dangling one as an empty file.
      const info = await stat(join(folder, entry.name)).catch(() => null);
      if (info?.isDirectory()) return { name: entry.name, kind: "folder", sizeBytes: 0 };
      return { name: entry.name, kind: "file", sizeBytes: info?.size ?? 0 };
    }),
  );
  return out.sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
}

function withSlashes(path: string): string {
  return process.platform === "win32" ? path.replaceAll("\\", "/") : path;
}

/** Files over node:fs, in Node and in Deno. */
export const nodeFiles: Files = {
  // Not readFile: it refuses files of 2 GiB and more.
  read: (path) => readPart(path, 0, async () => (await stat(path)).size),
  readText: (path) => attempt("read", path, () => readFile(path, "utf8")),
  readRange: (path, offset, length) => readPart(path, offset, async () => length),
  size: (path) => attempt("read", path, async () => (await stat(path)).size),
  write: (path, data) => attempt("write", path, () => writeAtomically(path, data)),
  append: (path, data, options) =>
    attempt("write", path, async () => {
      await mkdir(dirname(path), { recursive: true });
      await withOpen(path, "a", async (file) => {
        await file.writeFile(data);
        if (options?.flush) await file.sync();
      });
    }),
  list: (folder) => attempt("list", folder, () => listFolder(folder)),
  exists: (path) =>
    stat(path).then(
      () => true,
      () => false,
    ),
  makeFolder: (folder) => attempt("make", folder, async () => void (await mkdir(folder, { recursive: true }))),
  copy: (from, to, options) =>
    attempt("copy", from, () =>
      cp(from, to, { recursive: true, errorOnExist: true, force: false, dereference: options?.followLinks ?? false }),
    ),
  rename: (from, to) => attempt("rename", from, () => rename(from, to)),
  remove: (path) => attempt("remove", path, () => rm(path, { recursive: true, force: true })),
  makeTempFolder: (prefix) =>
    attempt("make a folder in", tmpdir(), async () => withSlashes(await mkdtemp(join(tmpdir(), prefix)))),
  join: (...segments) => withSlashes(join(...segments)),
  absolute: (path) => withSlashes(resolve(path)),
};
