import { ConfigError } from "../core/errors.ts";
import type { RolloutHooks } from "../rollout/hooks.ts";
import type { Files } from "../schema/files.ts";
import type { Dataset } from "../schema/task.ts";
import { importModule, pathFrom } from "./load_config.ts";

async function exported(files: Files, folder: string, path: string, name: string): Promise<unknown> {
  const module = await importModule(files, pathFrom(files, folder, path));
  if (module[name] !== undefined) return module[name];
  throw new ConfigError(`${path} does not export "${name}".`, { do: `Add: export const ${name} = …;` });
}

/** The dataset of an experiment. @throws ConfigError when the module exports none */
export async function loadDataset(files: Files, folder: string, path: string): Promise<Dataset> {
  const dataset = (await exported(files, folder, path, "dataset")) as Partial<Dataset>;
  if (typeof dataset.train === "function" && Array.isArray(dataset.heldOut)) return dataset as Dataset;
  throw new ConfigError(`The dataset of ${path} lacks train(seed) or heldOut.`, {
    do: "Export an object of type Dataset.",
  });
}

/** The hooks of an experiment; none for an empty path. @throws ConfigError when the module exports none */
export async function loadHooks(files: Files, folder: string, path: string): Promise<RolloutHooks> {
  return path === "" ? {} : ((await exported(files, folder, path, "hooks")) as RolloutHooks);
}
