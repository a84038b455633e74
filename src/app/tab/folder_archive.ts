/** Folders on their way through zip archives, and out of what a person chose. */
import { zipSync } from "fflate";
import { FormatError } from "../../core/errors.ts";
import type { Files } from "../../schema/files.ts";
import type { TabFile } from "./tab_messages.ts";
import { zipEntries } from "./zip_archive.ts";

/** Files of a folder by their paths in it; those that were chosen are read when they are needed. */
export type Folder = Record<string, Uint8Array | Blob>;

/** The bytes of a folder's file. */
export async function bytesOf(file: Uint8Array | Blob): Promise<Uint8Array> {
  return file instanceof Blob ? new Uint8Array(await file.arrayBuffer()) : file;
}

/** A folder's file as text; empty where it is not there. */
export async function textOf(file: Uint8Array | Blob | undefined): Promise<string> {
  return file === undefined ? "" : new TextDecoder().decode(await bytesOf(file));
}

/** Files of a folder, those below it too, without what `skipped` names at its top. */
export async function folderBytes(
  files: Files,
  folder: string,
  skipped: readonly string[] = [],
): Promise<Record<string, Uint8Array>> {
  const out: Record<string, Uint8Array> = {};
  for (const { name, kind } of await files.list(folder)) {
    if (skipped.includes(name)) continue;
    const path = files.join(folder, name);
    if (kind === "file") out[name] = await files.read(path);
    else for (const [rest, bytes] of Object.entries(await folderBytes(files, path))) out[`${name}/${rest}`] = bytes;
  }
  return out;
}

/** A zip archive of a folder. */
export function zipped(folder: Readonly<Record<string, Uint8Array>>): Uint8Array {
  // Weights hardly get smaller, and packing them would take seconds.
  const entries = Object.entries(folder).map(([path, bytes]): [string, [Uint8Array, { level: 0 | 6 }]] => [
    path,
    [bytes, { level: /\.(safetensors|sqlite)$/.test(path) ? 0 : 6 }],
  ]);
  return zipSync(Object.fromEntries(entries));
}

/** What a zip archive holds, without a folder around it. @throws FormatError "zip", "file_path" */
export function unzipped(zip: Uint8Array): Folder {
  return withoutTop(zipEntries(zip));
}

/**
 * What a person chose: the files of a folder, or one zip archive of it, without folders around it.
 * @throws FormatError "zip", "file_path"
 */
export async function chosenFiles(files: readonly TabFile[]): Promise<Folder> {
  const [only] = files;
  const isZip = files.length === 1 && only !== undefined && /\.zip$/i.test(only.path);
  return isZip ? unzipped(await bytesOf(only.file)) : withoutTop(files.map(({ path, file }) => [path, file]));
}

/**
 * A path, between whose parts some programs write "\", that does not lead out of its folder. @throws FormatError
 * "file_path"
 */
export function safePath(path: string): string {
  const parts = path.split(/[/\\]/).filter((part) => part !== "" && part !== ".");
  if (parts.length > 0 && !parts.includes("..")) return parts.join("/");
  throw new FormatError("file_path", `The path "${path}" leads out of its folder.`, { do: "Choose a plain folder." });
}

/** What a Mac's file manager adds by itself. */
const added = /(^|\/)(__MACOSX\/|\.DS_Store$)/;

/** Files without the folders that all of them are in. */
function withoutTop(given: readonly (readonly [path: string, file: Uint8Array | Blob])[]): Folder {
  let entries = given.filter(([path]) => !added.test(path)).map(([path, file]) => [safePath(path), file] as const);
  for (;;) {
    const [top = ""] = entries[0]?.[0].split("/") ?? [];
    if (entries.length === 0 || !entries.every(([path]) => path.startsWith(`${top}/`))) return distinct(entries);
    entries = entries.map(([path, file]) => [path.slice(top.length + 1), file] as const);
  }
}

/** A folder of files that can lie in it together. @throws FormatError "file_path" naming one that cannot */
function distinct(entries: readonly (readonly [path: string, file: Uint8Array | Blob])[]): Folder {
  const paths = new Set(entries.map(([path]) => path));
  const folders = new Set(
    [...paths].flatMap((path) => path.split("/").map((_, depth, parts) => parts.slice(0, depth).join("/"))),
  );
  const both = [...paths].find((path) => folders.has(path));
  const twice = entries.find(
    ([path], index) => entries.length > paths.size && entries.findIndex(([p]) => p === path) < index,
  );
  const path = both ?? twice?.[0];
  if (path === undefined) return Object.fromEntries(entries);
  const what = both === undefined ? "There are two files" : "There is a file and a folder";
  throw new FormatError("file_path", `${what} "${path}".`, { do: "Choose a plain folder." });
}
