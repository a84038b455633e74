import type { Files } from "../schema/files.ts";

/** True for a path that starts at a root: "/a", "C:\\a", "\\\\server\\a". */
function isAbsolute(path: string): boolean {
  return /^([A-Za-z]:)?[\\/]/.test(path);
}

/** A path of a configuration: relative ones start from the configuration's folder. */
export function pathFrom(files: Files, folder: string, path: string): string {
  return isAbsolute(path) ? path : files.join(folder, path);
}
