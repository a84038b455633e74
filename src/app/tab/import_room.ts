import { asLeydenError, EnvironmentError } from "../../core/errors.ts";
import { sizeText } from "../size_text.ts";
import type { Folder } from "./folder_archive.ts";
import type { ArrivingStore } from "./folder_swap.ts";
import type { KeptThings } from "./tab_messages.ts";

/** How many of the kept things are named, the largest first. */
const named = 3;

function sizeOf(file: Folder[string] | undefined): number {
  return file === undefined ? 0 : file instanceof Blob ? file.size : file.length;
}

/**
 * Bytes that bringing in a folder takes beside what is kept, until it is in its place: the folder, the largest of its files
 * a second time while that is moved, and its database in its place beside the one that was checked.
 */
export function importRoom(folder: Folder, store: Pick<ArrivingStore, "bytes" | "log"> = {}): number {
  const sizes = Object.values(folder).map(sizeOf);
  const files = sizes.reduce((sum, size) => sum + size, 0) + sizes.reduce((most, size) => Math.max(most, size), 0);
  return files + 2 * (sizeOf(store.bytes) + sizeOf(store.log));
}

/**
 * Does what brings a folder in. @throws EnvironmentError "import_room" for a "disk_full", with the room it takes and what
 * frees some
 */
export async function withinRoom(
  roomBytes: number,
  kept: () => Promise<KeptThings>,
  body: () => Promise<void>,
): Promise<void> {
  try {
    await body();
  } catch (thrown) {
    if (asLeydenError(thrown).code !== "disk_full") throw thrown;
    const message = `The browser has no room for what is brought in: it takes ${sizeText(roomBytes)} beside what is kept, which is as it was.`;
    const things = await kept().catch(() => null);
    throw new EnvironmentError("import_room", message, { do: adviceOf(things), cause: thrown });
  }
}

function adviceOf(kept: KeptThings | null): string {
  const things = [
    ...(kept?.runs ?? []).map(({ experiment, sizeBytes, inUse }) => ({
      name: `the run of ${experiment}`,
      sizeBytes,
      inUse,
    })),
    ...(kept?.models ?? []).map(({ name, sizeBytes, inUse }) => ({ name: `the model ${name}`, sizeBytes, inUse })),
  ];
  const free = things.filter(({ inUse }) => !inUse).sort((a, b) => b.sizeBytes - a.sizeBytes);
  if (free.length === 0) return "Free some of the computer's disk, then bring it in again.";
  const list = free.slice(0, named).map(({ name, sizeBytes }) => `${name} (${sizeText(sizeBytes)})`);
  return `Delete in the section Model what is no longer needed, then bring it in again; most room is in ${list.join(", ")}.`;
}
