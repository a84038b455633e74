import { FormatError } from "../core/errors.ts";
import type { Files } from "../schema/files.ts";
import type { LoraConfig } from "../schema/lora.ts";
import { adapterFiles, readPeftConfig } from "./peft_config.ts";

/** What a model folder consists of: weights, and the adapter beside them when it is a PEFT folder. */
export interface ModelPlace {
  /** Folder with config.json and the weights. */
  readonly base: string;
  /** Form of the adapter in the folder itself; null for a plain model folder. */
  readonly lora: LoraConfig | null;
}

/**
 * Where the weights of a model folder are: in itself, or, for a PEFT folder, in the folder that its
 * base_model_name_or_path names (relative to it, or to the working folder, as PEFT takes it).
 * @throws FormatError "adapter_config"; "adapter_base" when that folder is not there
 */
export async function modelPlace(files: Files, folder: string): Promise<ModelPlace> {
  if (await files.exists(files.join(folder, "config.json"))) return { base: folder, lora: null };
  const config = await readPeftConfig(files, folder);
  if (config === null) return { base: folder, lora: null };
  for (const base of [config.base, files.join(folder, config.base)]) {
    if (config.base !== "" && (await files.exists(files.join(base, "config.json")))) return { base, lora: config.lora };
  }
  const named =
    config.base === "" ? "names no base model" : `belongs to "${config.base}", which is no model folder here`;
  throw new FormatError("adapter_base", `The adapter ${folder} ${named}.`, {
    do: `Put the base model's folder into base_model_name_or_path of ${files.join(folder, adapterFiles.config)}.`,
    data: { folder, base: config.base },
  });
}
