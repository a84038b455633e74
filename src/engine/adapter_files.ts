import { ConfigError } from "../core/errors.ts";
import { adapterFiles, parsePeftConfig, peftConfigJson, readPeftConfig } from "../io/peft_config.ts";
import { encodeSafetensors, type TensorSource } from "../io/safetensors.ts";
import { weightsSha256 } from "../io/weights_hash.ts";
import { Adapter } from "../model/lora/adapter.ts";
import { memoryWeights } from "../model/memory_weights.ts";
import { type Model, namedTensors } from "../model/model.ts";
import type { Files } from "../schema/files.ts";
import { type AdapterOptions, baseAdapter } from "../schema/lora.ts";
import type { EngineOptions } from "./engine_options.ts";
import type { ModelState } from "./engine_parts.ts";

const optimizerFile = "optimizer.safetensors";

/** Where a checkpoint keeps an adapter: a PEFT folder, the checkpoint itself when there is one adapter alone. */
export function prefixOf(name: string, count: number): string {
  return count === 1 ? "" : `${name}/`;
}

/**
 * The adapters of a state, or of their folders, or fresh ones.
 * @throws FormatError for their files; ConfigError for names or targets that will not do
 */
export async function openAdapters(
  files: Files,
  model: Model,
  { adapters, seed }: Pick<EngineOptions, "adapters" | "seed">,
  state: ModelState | null,
): Promise<Adapter[]> {
  requireNames(adapters.map(({ name }) => name));
  const opened: Adapter[] = [];
  for (const options of adapters) {
    const prefix = prefixOf(options.name, adapters.length);
    const saved = state === null ? await savedAdapter(files, options) : stateAdapter(state, prefix);
    if (saved === null) {
      opened.push(Adapter.create(model, options.name, options.lora, seed));
      continue;
    }
    const source = await memoryWeights(saved.path, saved.weights);
    opened.push(await Adapter.load(model, options.name, saved.lora, source));
  }
  return opened;
}

/** Requests tell adapters apart by name, and checkpoints of several name folders after them. @throws ConfigError */
function requireNames(names: readonly string[]): void {
  for (const [i, name] of names.entries()) {
    const fault =
      name === baseAdapter
        ? "which means the model without any"
        : names.indexOf(name) < i
          ? "like another one"
          : name !== "" && (names.length === 1 || /^[\w-][\w.-]*$/.test(name))
            ? null
            : "which is no file name";
    if (fault === null) continue;
    throw new ConfigError(`An adapter is named "${name}", ${fault}.`, {
      do: "Give each adapter a name of its own, of letters, digits, dots, dashes and underscores.",
      data: { names },
    });
  }
}

interface SavedAdapter extends Pick<AdapterOptions, "lora"> {
  readonly path: string;
  readonly weights: Uint8Array;
}

async function savedAdapter(files: Files, { folder }: AdapterOptions): Promise<SavedAdapter | null> {
  const config = folder === "" ? null : await readPeftConfig(files, folder);
  if (config === null) return null;
  const path = files.join(folder, adapterFiles.weights);
  return { lora: config.lora, path, weights: await files.read(path) };
}

function stateAdapter({ files }: ModelState, prefix: string): SavedAdapter | null {
  const [config, weights] = [files[prefix + adapterFiles.config], files[prefix + adapterFiles.weights]];
  if (config === undefined || weights === undefined) return null;
  const { lora } = parsePeftConfig(JSON.parse(new TextDecoder().decode(config)));
  return { lora, path: prefix + adapterFiles.weights, weights };
}

/** An adapter's saved moments: those of a state, or beside its folder's weights when a run goes on; else undefined. */
export async function adapterMoments(
  files: Files,
  options: Pick<EngineOptions, "adapters" | "optimizerFolder">,
  { name, folder }: AdapterOptions,
  state: ModelState | null,
): Promise<Uint8Array | undefined> {
  if (state !== null) return state.files[prefixOf(name, options.adapters.length) + optimizerFile];
  if (options.optimizerFolder === "" || folder === "") return undefined;
  return files.read(files.join(folder, optimizerFile));
}

/** An adapter with its moments, where it has some. */
export interface AdapterToSave {
  readonly adapter: Adapter;
  readonly optimizer: Uint8Array | null;
}

/** Adapters as the files of a checkpoint, each a PEFT folder, with the hash of all their tensors. */
export async function adapterCheckpoint(
  saved: readonly AdapterToSave[],
  { base, transposed }: { readonly base: string; readonly transposed: boolean },
): Promise<Pick<ModelState, "files" | "weightsSha256">> {
  const files: Record<string, Uint8Array> = {};
  const hashed: TensorSource[] = [];
  for (const { adapter, optimizer } of saved) {
    const prefix = prefixOf(adapter.name, saved.length);
    const config = peftConfigJson({ lora: adapter.config, base }, transposed);
    const tensors = namedTensors(adapter.savedForm, await adapter.parameters.toHost());
    files[prefix + adapterFiles.config] = new TextEncoder().encode(`${JSON.stringify(config, null, 2)}\n`);
    files[prefix + adapterFiles.weights] = await encodeSafetensors(tensors, { format: "pt" });
    if (optimizer !== null) files[prefix + optimizerFile] = optimizer;
    hashed.push(...tensors.map((t) => ({ ...t, name: prefix + t.name })));
  }
  return { files, weightsSha256: await weightsSha256(hashed) };
}
