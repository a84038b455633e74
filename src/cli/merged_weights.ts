import { oneModelPlace } from "../io/adapter_base.ts";
import { ModelFolder } from "../io/model_folder.ts";
import { adapterFiles } from "../io/peft_config.ts";
import type { TensorEntry } from "../io/safetensors_header.ts";
import { familyOf } from "../model/families/registry.ts";
import { matchTensors, type WeightSource } from "../model/load_weights.ts";
import { mergePair } from "../model/lora/merge.ts";
import { loraSites, loraTensors } from "../model/lora/sites.ts";
import { memoryWeights } from "../model/memory_weights.ts";
import type { Files } from "../schema/files.ts";
import type { LoraConfig } from "../schema/lora.ts";

/** A model folder's tensors, with its adapter merged into them when it is a PEFT folder. */
export interface MergedFolder extends Pick<ModelFolder, "path" | "config" | "names"> {
  entry(name: string): TensorEntry;
  read(name: string): Promise<Float32Array>;
}

/**
 * Opens a model folder; of a PEFT folder the base model's tensors, each with its pair's product added when it is read.
 * @throws FormatError of its files; "tensor_missing" | "tensor_unknown" when the adapter is another model's
 */
export async function openMerged(files: Files, path: string): Promise<MergedFolder> {
  const { base, lora } = await oneModelPlace(files, path);
  const folder = await ModelFolder.open(files, base);
  if (lora === null) return folder;
  const at = files.join(path, adapterFiles.weights);
  const pairs = await memoryWeights(at, await files.read(at));
  return merged(folder, pairs, lora);
}

function merged(folder: ModelFolder, pairs: WeightSource, lora: LoraConfig): MergedFolder {
  const family = familyOf(folder.config);
  const d = family.describe(folder.config);
  const sites = loraSites(family, d, lora.targets);
  const modules = new Map(sites.flatMap((s) => s.modules.map((m) => [`${m.module}.weight`, s.inputs])));
  // An adapter whose pairs have no place here would be lost without a word.
  matchTensors(pairs, {
    label: "the adapter",
    prefix: "",
    tensors: loraTensors(sites, lora.rank),
    isRedundant: () => false,
  });
  // Files of a bare base model leave the prefix out.
  const fullName = (name: string): string => (modules.has(name) ? name : family.prefix + name);
  return {
    path: folder.path,
    config: folder.config,
    names: folder.names,
    entry: (name) => folder.entry(name),
    async read(name) {
      const weights = await folder.read(name);
      const inputs = modules.get(fullName(name));
      if (inputs === undefined) return weights;
      const module = fullName(name).slice(0, -".weight".length);
      const side = (letter: "A" | "B"): Promise<Float32Array> =>
        pairs.read(`base_model.model.${module}.lora_${letter}.weight`);
      mergePair(weights, { a: await side("A"), b: await side("B") }, inputs, lora, d.weightLayout);
      return weights;
    },
  };
}
