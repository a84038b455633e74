import { FormatError } from "../core/errors.ts";
import type { Files } from "../schema/files.ts";
import type { JsonObject, TokenizerFiles } from "../schema/tokenizer_files.ts";
import { readJson, readJsonIfThere } from "./json_file.ts";

/**
 * Reads everything about text from a model folder.
 * @throws FormatError "tokenizer_missing" when it has no tokenizer.json; "json" for a file that is not JSON
 */
export async function readTokenizerFiles(files: Files, folder: string): Promise<TokenizerFiles> {
  const path = files.join(folder, "tokenizer.json");
  if (!(await files.exists(path))) {
    throw new FormatError("tokenizer_missing", `${folder} has no tokenizer.json.`, {
      do: "Put the model's tokenizer.json there (a fast tokenizer's save_pretrained writes it).",
      data: { folder },
    });
  }
  const object = async (name: string) => asObject(await readJsonIfThere(files, files.join(folder, name)));
  return {
    name: folder,
    tokenizer: asObject(await readJson(files, path)) ?? {},
    tokenizerConfig: await object("tokenizer_config.json"),
    specialTokensMap: await object("special_tokens_map.json"),
    generationConfig: await object("generation_config.json"),
    modelConfig: await object("config.json"),
    chatTemplates: await readTemplates(files, folder),
  };
}

function asObject(value: unknown): JsonObject | null {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as JsonObject) : null;
}

async function readTemplates(files: Files, folder: string): Promise<Record<string, string>> {
  const templates: Record<string, string> = {};
  const single = files.join(folder, "chat_template.jinja");
  if (await files.exists(single)) templates.default = await files.readText(single);
  const more = files.join(folder, "additional_chat_templates");
  if (await files.exists(more)) {
    for (const entry of await files.list(more)) {
      const name = /^(.+)\.jinja$/.exec(entry.name)?.[1];
      if (name !== undefined) templates[name] = await files.readText(files.join(more, entry.name));
    }
  }
  return templates;
}
