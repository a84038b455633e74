import type { Device } from "../gpu/device.ts";
import { oneModelPlace } from "../io/adapter_base.ts";
import { ModelFolder } from "../io/model_folder.ts";
import { AdaptedModel } from "../model/lora/adapted_model.ts";
import { Model } from "../model/model.ts";
import type { WeightType } from "../model/parameter_layout.ts";
import type { Policy } from "../model/policy.ts";
import type { Files } from "../schema/files.ts";
import { openAdapters } from "./adapter_files.ts";

/**
 * What a model folder computes with, to be scored or compared against: a model, or of a PEFT folder its base model with
 * the adapter. `loaded`: base models that are on the device already, by their folder's absolute path.
 * @throws FormatError naming what does not fit
 */
export async function openDecoder(
  files: Files,
  device: Device,
  folder: string,
  {
    type = "f32",
    loaded = new Map(),
  }: { readonly type?: WeightType; readonly loaded?: ReadonlyMap<string, Model> } = {},
): Promise<Policy> {
  const { base, lora } = await oneModelPlace(files, folder);
  const model = loaded.get(files.absolute(base)) ?? (await loadModel(files, device, base, type));
  if (lora === null) return model;
  const [adapter] = await openAdapters(files, model, { adapters: [{ name: "policy", folder, lora }], seed: 0 }, null);
  return adapter === undefined ? model : new AdaptedModel(model, adapter);
}

async function loadModel(files: Files, device: Device, folder: string, type: WeightType): Promise<Model> {
  const weights = await ModelFolder.open(files, folder);
  return Model.load(device, weights.config, weights, { type });
}
