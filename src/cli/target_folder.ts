import { FormatError } from "../core/errors.ts";
import type { Files } from "../schema/files.ts";

/** Refuses to write among other files, unless `force`. @throws FormatError "folder_not_empty" */
export async function requireEmptyFolder(files: Files, folder: string, force: boolean): Promise<void> {
  if (force || !(await files.exists(folder))) return;
  const entries = (await files.list(folder)).length;
  if (entries === 0) return;
  throw new FormatError(
    "folder_not_empty",
    `${folder} holds ${entries} ${entries === 1 ? "entry" : "entries"} already.`,
    { do: "Name a new folder, or pass --force to replace the model in it.", data: { folder, entries } },
  );
}
