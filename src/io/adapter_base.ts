import { FormatError } from "../core/errors.ts";
import type { Files } from "../schema/files.ts";
import type { LoraConfig } from "../schema/lora.ts";
import { adapterFiles, type PeftConfig, readPeftConfig } from "./peft_config.ts";

/** What a model folder consists of: weights, and adapters beside them. */
export interface ModelPlace {
  /** Folder with config.json and the weights. */
  readonly base: string;
  /** Form of the adapter in the folder itself, when it is a PEFT folder. */
  readonly lora: LoraConfig | null;
  /** Names of the PEFT folders in it, when it is a checkpoint of several adapters. */
  readonly several: readonly string[];
}

/**
 * Where the weights of a model folder are: in itself, or, for a PEFT folder or a checkpoint of several, in the folder that
 * base_model_name_or_path names (relative to the adapter, or to the working folder, as PEFT takes it).
 * @throws FormatError "adapter_config"; "adapter_base" when that folder is not there
 */
export async function modelPlace(files: Files, folder: string): Promise<ModelPlace> {
  const plain = { base: folder, lora: null, several: [] };
  if (!(await files.exists(folder)) || (await files.exists(files.join(folder, "config.json")))) return plain;
  const config = await readPeftConfig(files, folder);
  if (config !== null) return { base: await baseOf(files, folder, config), lora: config.lora, several: [] };
  const several = await adapterFolders(files, folder);
  const first = several[0];
  if (first === undefined) return plain;
  return { base: (await modelPlace(files, files.join(folder, first))).base, lora: null, several };
}

/**
 * The same of a folder that must mean one model.
 * @throws FormatError "adapter_several" for a checkpoint of several adapters
 */
export async function oneModelPlace(files: Files, folder: string): Promise<ModelPlace> {
  const place = await modelPlace(files, folder);
  if (place.several.length === 0) return place;
  throw new FormatError("adapter_several", `${folder} holds the adapters ${place.several.join(", ")}.`, {
    do: `Name one of them, such as ${files.join(folder, place.several[0] as string)}.`,
    data: { folder, adapters: place.several },
  });
}

async function adapterFolders(files: Files, folder: string): Promise<string[]> {
  const names: string[] = [];
  for (const { name, kind } of await files.list(folder)) {
    if (kind === "folder" && (await files.exists(files.join(folder, name, adapterFiles.config)))) names.push(name);
  }
  return names;
}

async function baseOf(files: Files, folder: string, { base }: PeftConfig): Promise<string> {
  for (const place of [base, files.join(folder, base)]) {
    if (base !== "" && (await files.exists(files.join(place, "config.json")))) return place;
  }
  const named = base === "" ? "names no base model" : `belongs to "${base}", which is no model folder here`;
  throw new FormatError("adapter_base", `The adapter ${folder} ${named}.`, {
    do: `Put the base model's folder into base_model_name_or_path of ${files.join(folder, adapterFiles.config)}.`,
    data: { folder, base },
  });
}
