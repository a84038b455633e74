/** Where a tab keeps things, in the origin's private file system. */

/** Where the gateway is when requests are answered in the tab: under a name that no server can have. */
export const innerGatewayUrl = "https://gateway.invalid";

/** Folder that an experiment's relative paths start from: its model lies in it. */
export function experimentFolder(id: string): string {
  return `/experiments/${encodeURIComponent(id)}`;
}

/** Folder of the runs, one for each experiment. */
export const runFolders = "/runs";

/** Folder of an experiment's run. */
export function runFolderOf(id: string): string {
  return `${runFolders}/${encodeURIComponent(id)}`;
}

/** The store of a run, as SQLite knows it. */
export function storePathOf(id: string): string {
  return `${runFolderOf(id)}/store.sqlite`;
}

/** Folder of the models that people brought. */
export const importedModels = "/models";

/** Folder of a model that a person brought. */
export function importedModelFolder(name: string): string {
  return `${importedModels}/${encodeURIComponent(name)}`;
}

/** The experiment or the model that one of these folders is named after. */
export function idOfFolder(name: string): string {
  return decodeURIComponent(name);
}
