import { FormatError } from "../core/errors.ts";
import type { Files } from "../schema/files.ts";

/** A thing to check: a model folder, or a JSON file of numbers. `file` is its name in the report. */
export type GoldenItem =
  | { readonly kind: "model"; readonly path: string; readonly file: string }
  | { readonly kind: "json"; readonly path: string; readonly file: string };

/**
 * The golden items at a path: a model folder (config.json and golden.json), a .json file, or a folder of them at any
 * depth, in the order of their names.
 * @throws FormatError "file_missing"; "golden_format" when there is nothing to check
 */
export async function findGoldenItems(files: Files, path: string): Promise<GoldenItem[]> {
  const root = files.absolute(path);
  const found = await itemsAt(files, root, baseName(root));
  if (found.length > 0) return found;
  throw new FormatError("golden_format", `${path} holds no golden file.`, {
    do: "Give a model folder with golden.json, an rl/*.json, a merge.json, or a folder of them.",
  });
}

async function itemsAt(files: Files, path: string, name: string): Promise<GoldenItem[]> {
  if (name.endsWith(".json")) {
    await files.size(path);
    return [{ kind: "json", path, file: name }];
  }
  const entries = await files.list(path);
  const names = new Set(entries.map((e) => e.name));
  if (names.has("golden.json") && names.has("config.json")) return [{ kind: "model", path, file: name }];
  const items: GoldenItem[] = [];
  for (const entry of entries) {
    if (entry.kind === "file" && !entry.name.endsWith(".json")) continue;
    items.push(...(await itemsAt(files, files.join(path, entry.name), entry.name)));
  }
  return items;
}

function baseName(path: string): string {
  return path.replace(/\/+$/, "").split("/").at(-1) ?? path;
}
