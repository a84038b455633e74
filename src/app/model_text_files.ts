import { textFolder } from "../io/tokenizer_folder.ts";
import type { Files } from "../schema/files.ts";

/** Files of a model folder that say how its tokens are text and how it is sampled. */
const names = [
  "tokenizer.json",
  "tokenizer_config.json",
  "special_tokens_map.json",
  "added_tokens.json",
  "vocab.json",
  "merges.txt",
  "tokenizer.model",
  "generation_config.json",
  "chat_template.jinja",
];

/** Folder of further chat templates, each a .jinja file. */
const templateFolder = "additional_chat_templates";

/** Those of a model folder's text files that are there, by name; the name may begin with a folder. */
export async function modelTextFiles(files: Files, modelFolder: string): Promise<Record<string, Uint8Array>> {
  const folder = await textFolder(files, modelFolder);
  const found: Record<string, Uint8Array> = {};
  for (const name of [...names, ...(await templateNames(files, folder))]) {
    const path = files.join(folder, name);
    if (await files.exists(path)) found[name] = await files.read(path);
  }
  return found;
}

async function templateNames(files: Files, folder: string): Promise<string[]> {
  const path = files.join(folder, templateFolder);
  if (!(await files.exists(path))) return [];
  const entries = await files.list(path);
  return entries.filter(({ name }) => name.endsWith(".jinja")).map(({ name }) => files.join(templateFolder, name));
}
