import { FormatError } from "../core/errors.ts";
import type { Files } from "../schema/files.ts";
import type { JsonObject, TokenizerFiles } from "../schema/tokenizer_files.ts";
import { modelPlace } from "./adapter_base.ts";
import { readJson, readJsonIfThere } from "./json_file.ts";

/** The folder with a model's text files: its own, or its base model's for an adapter without any. */
export async function textFolder(files: Files, folder: string): Promise<string> {
  if (await files.exists(files.join(folder, "tokenizer.json"))) return folder;
  return (await modelPlace(files, folder)).base;
}

/**
 * Reads everything about text from a model folder.
 * @throws FormatError "tokenizer_missing" when it has no tokenizer.json; "json" for a file that is not JSON
 */
export async function readTokenizerFiles(files: Files, modelFolder: string): Promise<TokenizerFiles> {
  const { base } = await modelPlace(files, modelFolder);
  const folder = await textFolder(files, modelFolder);
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
    modelConfig: asObject(await readJsonIfThere(files, files.join(base, "config.json"))),
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
