import { parseHfConfig } from "../io/hf_config.ts";
import type { TensorSource } from "../io/safetensors.ts";
import { saveModel } from "../io/save_model.ts";
import { familyOf } from "../model/families/registry.ts";
import { initialTensors } from "../model/initialize.ts";
import type { Files } from "../schema/files.ts";
import { pathFrom } from "./config_paths.ts";
import { modelTextFiles } from "./model_text_files.ts";
import type { RunRequest } from "./run_request.ts";

/** Writes to `out` the model of a folder that has a config.json and no weights, with random ones of a seed. */
async function writeRandomModel(files: Files, folder: string, seed: number, out: string): Promise<void> {
  const config = JSON.parse(await files.readText(files.join(folder, "config.json"))) as Record<string, unknown>;
  const parsed = parseHfConfig(config);
  const family = familyOf(parsed);
  const tensors = [...initialTensors(family, family.describe(parsed), { seed })].map(
    ({ name, shape, values }): TensorSource => ({ name, shape, dtype: "F32", load: () => values }),
  );
  for (const [name, bytes] of Object.entries(await modelTextFiles(files, folder))) {
    await files.write(files.join(out, name), bytes);
  }
  await saveModel(files, out, { config: { ...config, torch_dtype: "float32" }, tensors });
}

/** The request with a base model that has weights: random ones are drawn once per run, into its folder "base". */
export async function withBaseModel(files: Files, request: RunRequest): Promise<RunRequest> {
  const { config, configFolder, runFolder } = request;
  const { path, randomSeed } = config.model;
  if (randomSeed === 0) return request;
  const out = files.join(runFolder, "base");
  if (!(await files.exists(files.join(out, "config.json")))) {
    await writeRandomModel(files, pathFrom(files, configFolder, path), randomSeed, out);
  }
  return { ...request, config: { ...config, model: { ...config.model, path: files.absolute(out) } } };
}
