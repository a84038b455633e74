import { EnvironmentError, FormatError, type LeydenError } from "../core/errors.ts";
import type { FileEntry, Files } from "../schema/files.ts";
import { absolutePath, joinSegments, segmentsOf } from "./path_segments.ts";

/** What to do when the browser gives an origin no more room. */
export const fullAdvice = "Delete runs or models that you no longer need in this page's section Model, then continue.";

function fileError(action: string, path: string, thrown: unknown): LeydenError {
  if (thrown instanceof EnvironmentError || thrown instanceof FormatError) return thrown;
  const name = thrown instanceof DOMException ? thrown.name : "";
  const detail = { cause: thrown, data: { path, system: name } };
  if (name === "NotFoundError" || name === "TypeMismatchError") {
    return new FormatError("file_missing", `There is no ${path}.`, { ...detail, do: "Check the path." });
  }
  if (name === "QuotaExceededError") {
    const message = `The browser's storage is full; ${path} was not written.`;
    return new EnvironmentError("disk_full", message, { ...detail, do: fullAdvice });
  }
  const reason = thrown instanceof Error ? thrown.message : String(thrown);
  const message = `Could not ${action} ${path}: ${reason}.`;
  return new EnvironmentError("file_failed", message, { ...detail, do: "Check that the page may store data." });
}

async function attempt<T>(action: string, path: string, body: () => Promise<T>): Promise<T> {
  try {
    return await body();
  } catch (thrown) {
    throw fileError(action, path, thrown);
  }
}

async function folderOf(segments: readonly string[], create = false): Promise<FileSystemDirectoryHandle> {
  let folder = await navigator.storage.getDirectory();
  for (const name of segments) folder = await folder.getDirectoryHandle(name, { create });
  return folder;
}

/** The folder that holds a path, and the path's last segment. */
async function locate(path: string, create = false): Promise<[FileSystemDirectoryHandle, string]> {
  const segments = segmentsOf(path);
  const name = segments.pop();
  if (name === undefined) throw new FormatError("file_missing", `"${path}" names no file.`, { do: "Check the path." });
  return [await folderOf(segments, create), name];
}

async function fileAt(path: string): Promise<File> {
  const [folder, name] = await locate(path);
  return (await folder.getFileHandle(name)).getFile();
}

async function handleAt(path: string): Promise<FileSystemHandle> {
  const segments = segmentsOf(path);
  const name = segments.pop();
  const folder = await folderOf(segments);
  if (name === undefined) return folder;
  // A path may be either; asking for the wrong kind is a TypeMismatchError.
  return folder.getFileHandle(name).catch(() => folder.getDirectoryHandle(name));
}

async function put(path: string, data: Uint8Array | string, at: "replace" | "end"): Promise<void> {
  const [folder, name] = await locate(path, true);
  const handle = await folder.getFileHandle(name, { create: true });
  // A writable stream works on a copy that replaces the file when it is closed: atomic by itself.
  const stream = await handle.createWritable({ keepExistingData: at === "end" });
  try {
    if (at === "end") await stream.seek((await handle.getFile()).size);
    await stream.write(data as FileSystemWriteChunkType);
    await stream.close();
  } catch (thrown) {
    await stream.abort().catch(() => undefined);
    throw thrown;
  }
}

async function listFolder(path: string): Promise<FileEntry[]> {
  const folder = await folderOf(segmentsOf(path));
  const out: FileEntry[] = [];
  for await (const [name, handle] of folder.entries()) {
    const isFile = handle instanceof FileSystemFileHandle;
    out.push({ name, kind: isFile ? "file" : "folder", sizeBytes: isFile ? (await handle.getFile()).size : 0 });
  }
  return out.sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
}

async function removePath(path: string): Promise<void> {
  try {
    const [folder, name] = await locate(path);
    await folder.removeEntry(name, { recursive: true });
  } catch (thrown) {
    if (!(thrown instanceof DOMException && thrown.name === "NotFoundError")) throw thrown;
  }
}

async function copyPath(from: string, to: string): Promise<void> {
  const source = await handleAt(from);
  if (source instanceof FileSystemFileHandle) {
    await put(to, new Uint8Array(await (await source.getFile()).arrayBuffer()), "replace");
    return;
  }
  await folderOf(segmentsOf(to), true);
  for (const entry of await listFolder(from)) await copyPath(`${from}/${entry.name}`, `${to}/${entry.name}`);
}

async function copyToNew(from: string, to: string): Promise<void> {
  if (await originPrivateFiles.exists(to)) throw new DOMException(`${to} exists already`, "InvalidModificationError");
  await copyPath(from, to);
}

/** The origin's private file system: paths start at its root. Nothing here is visible outside this origin. */
export const originPrivateFiles: Files = {
  read: (path) => attempt("read", path, async () => new Uint8Array(await (await fileAt(path)).arrayBuffer())),
  readText: (path) => attempt("read", path, async () => (await fileAt(path)).text()),
  readRange: (path, offset, length) =>
    attempt("read", path, async () => {
      const file = await fileAt(path);
      if (offset + length > file.size) {
        const message = `${path} ends at byte ${file.size}; bytes ${offset} to ${offset + length} were wanted.`;
        throw new FormatError("file_truncated", message, { do: "Copy or download the file again." });
      }
      return new Uint8Array(await file.slice(offset, offset + length).arrayBuffer());
    }),
  size: (path) => attempt("read", path, async () => (await fileAt(path)).size),
  write: (path, data) => attempt("write", path, () => put(path, data, "replace")),
  append: (path, data) => attempt("write", path, () => put(path, data, "end")),
  list: (folder) => attempt("list", folder, () => listFolder(folder)),
  exists: (path) =>
    handleAt(path).then(
      () => true,
      () => false,
    ),
  makeFolder: (folder) => attempt("make", folder, async () => void (await folderOf(segmentsOf(folder), true))),
  copy: (from, to) => attempt("copy", from, () => copyToNew(from, to)),
  // The file system has no rename that every browser knows: copy, then remove.
  rename: (from, to) =>
    attempt("rename", from, async () => {
      await copyPath(from, to);
      await removePath(from);
    }),
  remove: (path) => attempt("remove", path, () => removePath(path)),
  makeTempFolder: (prefix) =>
    attempt("make", "tmp", async () => {
      const path = `/tmp/${prefix}${crypto.randomUUID()}`;
      await folderOf(segmentsOf(path), true);
      return path;
    }),
  join: joinSegments,
  absolute: absolutePath,
};
