import { FormatError } from "../core/errors.ts";
import type { FileEntry, Files } from "../schema/files.ts";

/**
 * Refuses to write among other files, unless `force`; `advice` says what to do about them.
 * @throws FormatError "folder_not_empty", or "file_exists" where a file is in the folder's place
 */
export async function requireEmptyFolder(
  files: Files,
  folder: string,
  force: boolean,
  advice = "Name a new folder, or pass --force to replace the model in it.",
): Promise<void> {
  if (force || !(await files.exists(folder))) return;
  const entries = (await entriesOf(files, folder)).length;
  if (entries === 0) return;
  throw new FormatError(
    "folder_not_empty",
    `${folder} holds ${entries} ${entries === 1 ? "entry" : "entries"} already.`,
    { do: advice, data: { folder, entries } },
  );
}

async function entriesOf(files: Files, folder: string): Promise<readonly FileEntry[]> {
  try {
    return await files.list(folder);
  } catch (cause) {
    // What is there and cannot be listed is no folder.
    if (!(cause instanceof FormatError)) throw cause;
    throw new FormatError("file_exists", `${folder} is a file.`, { do: "Name a new folder.", cause });
  }
}
