import { asLeydenError } from "../../core/errors.ts";
import type { Files } from "../../schema/files.ts";

/** Bounds of a copy, against workspaces that fill the disk or link to themselves. */
export interface CopyBounds {
  bytes: number;
  files: number;
  depth: number;
}

/** The bounds of a workspace: 256 MiB, 20,000 files, 64 folders deep. */
export const workspaceBounds: CopyBounds = { bytes: 256 * 2 ** 20, files: 20_000, depth: 64 };

/** What a copy has moved; `skipped` counts pipes, sockets and links to nowhere, `tooLarge` says it stopped at a bound. */
export interface CopyCount {
  bytes: number;
  files: number;
  skipped: number;
  tooLarge: boolean;
}

/** Copies a file's bytes; false for a pipe, a socket or a link to nowhere. @throws EnvironmentError "disk_full" */
export async function copyFile(files: Files, from: string, to: string): Promise<boolean> {
  try {
    await files.copy(from, to, { followLinks: true });
    return true;
  } catch (thrown) {
    if (asLeydenError(thrown).code === "disk_full") throw thrown;
    return false;
  }
}

/**
 * Copies a folder's contents into another as plain files and folders. Links are not kept, so nothing in the copy leads
 * out of it.
 */
export async function copyRegular(
  files: Files,
  from: string,
  to: string,
  bounds: CopyBounds = workspaceBounds,
): Promise<CopyCount> {
  const count: CopyCount = { bytes: 0, files: 0, skipped: 0, tooLarge: false };
  const copyFolder = async (source: string, target: string, depth: number): Promise<void> => {
    await files.makeFolder(target);
    for (const entry of await files.list(source)) {
      count.files++;
      count.bytes += entry.sizeBytes;
      count.tooLarge ||= count.files > bounds.files || count.bytes > bounds.bytes || depth > bounds.depth;
      if (count.tooLarge) return;
      const [path, copy] = [files.join(source, entry.name), files.join(target, entry.name)];
      if (entry.kind === "folder") await copyFolder(path, copy, depth + 1);
      else if (!(await copyFile(files, path, copy))) count.skipped++;
    }
  };
  await copyFolder(from, to, 0);
  return count;
}
