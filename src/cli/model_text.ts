import { FormatError } from "../core/errors.ts";
import { modelPlace } from "../io/adapter_base.ts";
import { idList } from "../io/hf_config.ts";
import { readJsonIfThere } from "../io/json_file.ts";
import { readTokenizerFiles, textFolder } from "../io/tokenizer_folder.ts";
import type { Files } from "../schema/files.ts";
import { folderStopIds } from "../text/stop_ids.ts";
import { Tokenizer } from "../text/tokenizer.ts";

/** How a model's tokens are text, and which of them end one. */
export interface ModelText {
  readonly folder: string;
  /** Null for a model that has none and is asked by ids. */
  readonly tokenizer: Tokenizer | null;
  readonly stopIds: readonly number[];
}

/** Reads what a model folder says about text. @throws FormatError "json" | "tokenizer_json" */
export async function readModelText(files: Files, folder: string): Promise<ModelText> {
  if (await files.exists(files.join(await textFolder(files, folder), "tokenizer.json"))) {
    const text = await readTokenizerFiles(files, folder);
    const tokenizer = Tokenizer.load(text);
    return { folder, tokenizer, stopIds: folderStopIds(text, tokenizer) };
  }
  const { base } = await modelPlace(files, folder);
  const configs = ["generation_config.json", "config.json"].map((name) =>
    readJsonIfThere(files, files.join(base, name)),
  );
  const listed = (await Promise.all(configs)).flatMap((json) =>
    idList((json as { eos_token_id?: unknown } | null)?.eos_token_id),
  );
  return { folder, tokenizer: null, stopIds: [...new Set(listed)] };
}

/** The tokenizer of a model that must have one. @throws FormatError "tokenizer_missing" */
export function tokenizerOf({ folder, tokenizer }: ModelText): Tokenizer {
  if (tokenizer !== null) return tokenizer;
  throw new FormatError("tokenizer_missing", `${folder} has no tokenizer.json.`, {
    do: "Put the model's tokenizer.json there, or pass --prompt-ids.",
    data: { folder },
  });
}
