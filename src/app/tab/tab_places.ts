/** Where a tab keeps things, in the origin's private file system. */
import { FormatError } from "../../core/errors.ts";

/** Where the gateway is when requests are answered in the tab: under a name that no server can have. */
export const innerGatewayUrl = "https://gateway.invalid";

/**
 * A name as that of one folder.
 * @throws FormatError "kept_name" when it would be the folder around it, or one further out
 */
function folderName(name: string): string {
  // What is no text at all, half of a surrogate pair say, cannot be encoded either.
  if (!["", ".", ".."].includes(name) && new TextDecoder().decode(new TextEncoder().encode(name)) === name)
    return encodeURIComponent(name);
  throw new FormatError("kept_name", `Nothing can be kept as "${name}".`, { do: "Give it another name." });
}

/** Folder that an experiment's relative paths start from: its model lies in it. @throws FormatError "kept_name" */
export function experimentFolder(id: string): string {
  return `/experiments/${folderName(id)}`;
}

/** Folder of the runs, one for each experiment. */
export const runFolders = "/runs";

/** Folder of an experiment's run. @throws FormatError "kept_name" */
export function runFolderOf(id: string): string {
  return `${runFolders}/${folderName(id)}`;
}

/** The store of a run, as SQLite knows it. */
export function storePathOf(id: string): string {
  return `${runFolderOf(id)}/store.sqlite`;
}

/** Folder of the models that people brought. */
export const importedModels = "/models";

/** Folder of a model that a person brought. @throws FormatError "kept_name" */
export function importedModelFolder(name: string): string {
  return `${importedModels}/${folderName(name)}`;
}

/** Folder of what is being brought in and of what it replaces, until it is in its place; no list shows it. */
export const arrivingFolder = "/arriving";

/** Folder of a run that another one is to replace, until that one is open; no list shows it. */
export const replacedFolder = "/replaced";

/** The experiment or the model that one of these folders is named after. */
export function idOfFolder(name: string): string {
  return decodeURIComponent(name);
}
