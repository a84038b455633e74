/** A file with its path inside what was dropped or chosen, without the outer folder. */
export interface DroppedFile {
  readonly path: string;
  readonly file: File;
}

/** A folder's files, and its name. */
export interface DroppedFolder {
  readonly name: string;
  readonly files: readonly DroppedFile[];
}

function entriesOf(folder: FileSystemDirectoryEntry): Promise<FileSystemEntry[]> {
  const reader = folder.createReader();
  const read = (): Promise<FileSystemEntry[]> => new Promise((resolve, reject) => reader.readEntries(resolve, reject));
  const all = async (): Promise<FileSystemEntry[]> => {
    // A reader gives its entries in parts, and none when it has given all.
    const out: FileSystemEntry[] = [];
    for (let part = await read(); part.length > 0; part = await read()) out.push(...part);
    return out;
  };
  return all();
}

async function filesUnder(entry: FileSystemEntry, path: string): Promise<DroppedFile[]> {
  if (entry.isFile) {
    const file = await new Promise<File>((resolve, reject) => (entry as FileSystemFileEntry).file(resolve, reject));
    return [{ path: path === "" ? file.name : path, file }];
  }
  const entries = await entriesOf(entry as FileSystemDirectoryEntry);
  const inside = (name: string): string => (path === "" ? name : `${path}/${name}`);
  return (await Promise.all(entries.map((child) => filesUnder(child, inside(child.name))))).flat();
}

/** What files without a folder are called together: the one archive by its name. */
function looseName(files: readonly DroppedFile[]): string {
  const [only] = files;
  return files.length === 1 && only !== undefined ? only.path.replace(/\.zip$/i, "") : "model";
}

/** What was dropped: a folder with everything in it, or loose files. */
export async function droppedFolder(transfer: DataTransfer): Promise<DroppedFolder> {
  // The list is emptied after the event, so its entries are taken before anything is awaited.
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry()).filter((entry) => entry !== null);
  const [first] = entries;
  if (entries.length === 1 && first?.isDirectory) return { name: first.name, files: await filesUnder(first, "") };
  const files = await Promise.all(entries.map((entry) => filesUnder(entry, entry.isFile ? "" : entry.name)));
  return { name: looseName(files.flat()), files: files.flat() };
}

/** What an input of files holds: a folder, whose paths begin with its name, or loose files. */
export function chosenFolder(list: FileList): DroppedFolder {
  const files = [...list].map((file) => ({
    path: file.webkitRelativePath.split("/").slice(1).join("/") || file.name,
    file,
  }));
  const name = files[0]?.file.webkitRelativePath.split("/")[0] ?? "";
  return { name: name === "" ? looseName(files) : name, files };
}
