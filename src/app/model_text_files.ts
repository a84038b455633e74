import type { Files } from "../schema/files.ts";

/** Files of a model folder that say how its tokens are text and how it is sampled. */
const names = [
  "tokenizer.json",
  "tokenizer_config.json",
  "special_tokens_map.json",
  "generation_config.json",
  "chat_template.jinja",
];

/** Those of a model folder's text files that are there, by name. */
export async function modelTextFiles(files: Files, folder: string): Promise<Record<string, Uint8Array>> {
  const found: Record<string, Uint8Array> = {};
  for (const name of names) {
    const path = files.join(folder, name);
    if (await files.exists(path)) found[name] = await files.read(path);
  }
  return found;
}
