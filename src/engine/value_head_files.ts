import { encodeSafetensors } from "../io/safetensors.ts";
import { memoryWeights } from "../model/memory_weights.ts";
import { type Model, namedTensors } from "../model/model.ts";
import { ValueHead, valueHeadFiles } from "../model/value_head.ts";
import type { Files } from "../schema/files.ts";
import type { PolicyValueHead } from "../train/policy_value_head.ts";
import { prefixOf } from "./adapter_files.ts";
import type { EngineOptions } from "./engine_options.ts";
import type { ModelState } from "./engine_parts.ts";

type HeadOptions = Pick<EngineOptions, "valueHead" | "adapters" | "modelFolder" | "optimizerFolder" | "train">;

/** A trained policy as its files are found: where a state keeps them, and where a folder does. */
interface PolicyPlace {
  readonly prefix: string;
  /** Folder of its weights; empty for a fresh adapter. */
  readonly folder: string;
}

/** The policies that train, the adapters in their order, or else the model itself. */
function placesOf({ adapters, modelFolder }: HeadOptions): PolicyPlace[] {
  if (adapters.length === 0) return [{ prefix: "", folder: modelFolder }];
  return adapters.map(({ name, folder }) => ({ prefix: prefixOf(name, adapters.length), folder }));
}

/**
 * The value head of every policy that trains: of a state, or beside its folder's weights, or a fresh one. None where
 * none is asked for. @throws FormatError for its files
 */
export async function openValueHeads(
  files: Files,
  { device, description: { width } }: Pick<Model, "device" | "description">,
  options: HeadOptions,
  state: ModelState | null,
): Promise<ValueHead[]> {
  if (!options.valueHead || !options.train) return [];
  const heads: ValueHead[] = [];
  for (const place of placesOf(options)) {
    const saved = await savedFile(files, place, valueHeadFiles.weights, state);
    const source = saved && (await memoryWeights(valueHeadFiles.weights, saved));
    heads.push(source === undefined ? new ValueHead(device, width) : await ValueHead.load(device, width, source));
  }
  return heads;
}

/** The saved moments of each policy's head, in the order of `openValueHeads`; undefined where there are none. */
export async function valueHeadMoments(
  files: Files,
  options: HeadOptions,
  state: ModelState | null,
): Promise<(Uint8Array | undefined)[]> {
  if (!options.valueHead || !options.train) return [];
  const continues = state !== null || options.optimizerFolder !== "";
  return Promise.all(
    placesOf(options).map(async (place) =>
      continues ? savedFile(files, place, valueHeadFiles.optimizer, state) : undefined,
    ),
  );
}

async function savedFile(
  files: Files,
  { prefix, folder }: PolicyPlace,
  name: string,
  state: ModelState | null,
): Promise<Uint8Array | undefined> {
  if (state !== null) return state.files[prefix + name];
  const path = files.join(folder, name);
  return folder !== "" && (await files.exists(path)) ? files.read(path) : undefined;
}

/** A head with its moments as the files of a checkpoint; `prefix`: where that keeps its policy. */
export async function savedValueHead(
  head: ValueHead,
  learning: PolicyValueHead,
  prefix: string,
): Promise<Record<string, Uint8Array>> {
  const tensors = namedTensors(head.savedForm, await head.parameters.toHost());
  return {
    [prefix + valueHeadFiles.weights]: await encodeSafetensors(tensors),
    [prefix + valueHeadFiles.optimizer]: await learning.optimizerFile(),
  };
}
