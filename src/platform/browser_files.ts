import type { Files } from "../schema/files.ts";
import { filePort, serveFiles } from "./file_port.ts";
import { memoryFiles } from "./memory_files.ts";
import { originPrivateFiles } from "./opfs_files.ts";
import { absolutePath, joinSegments } from "./path_segments.ts";

/** First message to a worker of ours: where the files are that its owner has in memory. */
export interface OwnerFiles {
  readonly kind: "leyden_owner_files";
  readonly port: MessagePort;
}

let ownerPort: MessagePort | null = null;
let chosen: Promise<Files> | null = null;

/** True where the browser gives this origin a private file system: not in a page opened from a disk. */
export async function hasPrivateFiles(): Promise<boolean> {
  try {
    await navigator.storage.getDirectory();
    return true;
  } catch {
    return false;
  }
}

async function choose(): Promise<Files> {
  if (await hasPrivateFiles()) return originPrivateFiles;
  return ownerPort === null ? memoryFiles() : filePort(ownerPort);
}

/** The files this thread uses from now on: the origin's, its owner's, or its own memory. */
function filesHere(): Promise<Files> {
  chosen ??= choose();
  return chosen;
}

/** A way to this thread's files, for a worker that it starts. */
export function offerFiles(): OwnerFiles {
  const { port1, port2 } = new MessageChannel();
  void filesHere().then((files) => serveFiles(files, port1));
  return { kind: "leyden_owner_files", port: port2 };
}

/** Takes the owner's offer, when the message is one: true then. It comes before any other message. */
export function takeOwnerFiles(message: unknown): boolean {
  const { kind, port } = (message ?? {}) as Partial<OwnerFiles>;
  if (kind !== "leyden_owner_files" || port === undefined) return false;
  ownerPort = port;
  return true;
}

/**
 * The files of a page and its workers: those of the origin's private file system where there is one; else one memory
 * that the workers of a worker share with it.
 */
export const browserFiles: Files = {
  read: async (path) => (await filesHere()).read(path),
  readText: async (path) => (await filesHere()).readText(path),
  readRange: async (path, offset, length) => (await filesHere()).readRange(path, offset, length),
  size: async (path) => (await filesHere()).size(path),
  write: async (path, data) => (await filesHere()).write(path, data),
  append: async (path, data, options) => (await filesHere()).append(path, data, options),
  list: async (folder) => (await filesHere()).list(folder),
  exists: async (path) => (await filesHere()).exists(path),
  makeFolder: async (folder) => (await filesHere()).makeFolder(folder),
  copy: async (from, to, options) => (await filesHere()).copy(from, to, options),
  rename: async (from, to) => (await filesHere()).rename(from, to),
  remove: async (path) => (await filesHere()).remove(path),
  makeTempFolder: async (prefix) => (await filesHere()).makeTempFolder(prefix),
  join: joinSegments,
  absolute: absolutePath,
};
