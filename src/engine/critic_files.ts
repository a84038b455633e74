import type { Device } from "../gpu/device.ts";
import { ModelFolder } from "../io/model_folder.ts";
import { encodeSafetensors } from "../io/safetensors.ts";
import { loadCritic } from "../model/critic.ts";
import { memoryWeights } from "../model/memory_weights.ts";
import type { Model } from "../model/model.ts";
import type { Files } from "../schema/files.ts";
import type { Critic } from "../train/critic.ts";
import type { EngineOptions } from "./engine_options.ts";
import type { ModelState } from "./engine_parts.ts";

/** Where a checkpoint keeps its critic, a model folder inside the policy's. */
const names = {
  config: "critic/config.json",
  model: "critic/model.safetensors",
  optimizer: "critic/optimizer.safetensors",
} as const;

/**
 * The critic's model of a state, or of the configured folder: there a critic of its own or, at first, a causal model.
 * Null where none is asked for. @throws FormatError for its files
 */
export async function openCriticModel(
  files: Files,
  device: Device,
  { criticFolder }: Pick<EngineOptions, "criticFolder">,
  state: ModelState | null,
): Promise<Model | null> {
  if (criticFolder === "") return null;
  const folder = await ModelFolder.open(files, criticFolder);
  const saved = state?.files[names.model];
  return loadCritic(device, folder.config, saved === undefined ? folder : await memoryWeights(names.model, saved));
}

/** The saved moments of a state's critic, or of the configured folder's; undefined where there are none. */
export async function criticMoments(
  files: Files,
  { criticFolder }: Pick<EngineOptions, "criticFolder">,
  state: ModelState | null,
): Promise<Uint8Array | undefined> {
  if (state !== null) return state.files[names.optimizer];
  const path = files.join(criticFolder, "optimizer.safetensors");
  return criticFolder !== "" && (await files.exists(path)) ? files.read(path) : undefined;
}

/** A critic as the files of a checkpoint. */
export async function criticFiles(critic: Critic): Promise<Record<string, Uint8Array>> {
  const config = `${JSON.stringify(critic.model.savedConfig(), null, 2)}\n`;
  return {
    [names.config]: new TextEncoder().encode(config),
    [names.model]: await encodeSafetensors(await critic.model.hostTensorSources()),
    [names.optimizer]: await critic.optimizerFile(),
  };
}
