import { FormatError } from "../core/errors.ts";
import type { Files } from "../schema/files.ts";

/** A JSON file's value. @throws FormatError "file_missing" | "json" with the place of the fault */
export async function readJson(files: Files, path: string): Promise<unknown> {
  const text = await files.readText(path);
  try {
    return JSON.parse(text.startsWith("\ufeff") ? text.slice(1) : text);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new FormatError("json", `${path} is not JSON: ${reason}.`, {
      do: "Correct the file or fetch it again.",
      data: { file: path },
      cause,
    });
  }
}

/** As `readJson`, but null when there is no such file. */
export async function readJsonIfThere(files: Files, path: string): Promise<unknown> {
  return (await files.exists(path)) ? readJson(files, path) : null;
}
