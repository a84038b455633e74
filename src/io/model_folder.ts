import { FormatError } from "../core/errors.ts";
import type { Files } from "../schema/files.ts";
import { type ByteSource, fileSource } from "./byte_source.ts";
import { type HfConfig, parseHfConfig } from "./hf_config.ts";
import { readJson } from "./json_file.ts";
import { readTensor } from "./safetensors.ts";
import { readSafetensorsHeader, type TensorEntry } from "./safetensors_header.ts";

const singleFile = "model.safetensors";
const indexFile = "model.safetensors.index.json";

/** A tensor and the file that holds it. */
interface PlacedTensor {
  entry: TensorEntry;
  source: ByteSource;
}

/**
 * A Hugging Face model folder, open for reading: config.json and either model.safetensors or shards with
 * model.safetensors.index.json. Only headers are read until a tensor is asked for.
 */
export class ModelFolder {
  readonly path: string;
  readonly config: HfConfig;
  private readonly placed: ReadonlyMap<string, PlacedTensor>;

  private constructor(path: string, config: HfConfig, placed: ReadonlyMap<string, PlacedTensor>) {
    this.path = path;
    this.config = config;
    this.placed = placed;
  }

  /**
   * @throws FormatError "file_missing" (no config.json), "weights_missing", "shard_missing", "tensor_missing",
   *   "config_json", "json", or one of `readSafetensorsHeader`'s
   */
  static async open(files: Files, path: string): Promise<ModelFolder> {
    const configPath = files.join(path, "config.json");
    const config = parseHfConfig(await readJson(files, configPath), configPath);
    if (await files.exists(files.join(path, indexFile))) {
      return new ModelFolder(path, config, await placeShards(files, path));
    }
    const weights = files.join(path, singleFile);
    if (!(await files.exists(weights))) {
      throw new FormatError("weights_missing", `${path} holds neither ${singleFile} nor ${indexFile}.`, {
        do: "Put the weights there as safetensors; pickled .bin files are not read.",
        data: { folder: path },
      });
    }
    const source = await fileSource(files, weights);
    const { tensors } = await readSafetensorsHeader(source);
    return new ModelFolder(path, config, new Map(tensors.map((entry) => [entry.name, { entry, source }])));
  }

  /** Names of all tensors, sorted. */
  get names(): string[] {
    return [...this.placed.keys()].sort();
  }

  has(name: string): boolean {
    return this.placed.has(name);
  }

  /** Type, shape and place of a tensor. @throws FormatError "tensor_missing" */
  entry(name: string): TensorEntry {
    return this.find(name).entry;
  }

  /** A tensor as f32, row-major. @throws FormatError "tensor_missing" | "safetensors_dtype" | "file_truncated" */
  read(name: string): Promise<Float32Array> {
    const { entry, source } = this.find(name);
    return readTensor(source, entry);
  }

  private find(name: string): PlacedTensor {
    const found = this.placed.get(name);
    if (found) return found;
    throw new FormatError("tensor_missing", `${this.path} has no tensor "${name}" among its ${this.placed.size}.`, {
      do: "Check that config.json belongs to these weights.",
      data: { folder: this.path, tensor: name },
    });
  }
}

async function placeShards(files: Files, path: string): Promise<Map<string, PlacedTensor>> {
  const weightMap = parseIndex(await readJson(files, files.join(path, indexFile)), files.join(path, indexFile));
  const placed = new Map<string, PlacedTensor>();
  for (const shard of new Set(Object.values(weightMap))) {
    const shardPath = files.join(path, shard);
    const wanted = Object.keys(weightMap).filter((name) => weightMap[name] === shard);
    if (!(await files.exists(shardPath))) {
      throw new FormatError(
        "shard_missing",
        `${shardPath} is not there; the index puts ${wanted.length} tensors in it.`,
        {
          do: `Fetch ${shard} into ${path}.`,
          data: { folder: path, shard },
        },
      );
    }
    const source = await fileSource(files, shardPath);
    const entries = new Map((await readSafetensorsHeader(source)).tensors.map((entry) => [entry.name, entry]));
    for (const name of wanted) {
      const entry = entries.get(name);
      if (!entry) {
        throw new FormatError("tensor_missing", `${shardPath} lacks the tensor "${name}" that the index puts in it.`, {
          do: `Fetch ${shard} and ${indexFile} of one version.`,
          data: { folder: path, shard, tensor: name },
        });
      }
      placed.set(name, { entry, source });
    }
  }
  return placed;
}

/** The index's weight_map: tensor name to shard file name. */
function parseIndex(json: unknown, name: string): Record<string, string> {
  const map = (json as { weight_map?: unknown } | null)?.weight_map;
  const valid =
    typeof map === "object" &&
    map !== null &&
    Object.values(map).every((file) => typeof file === "string" && /^[^/\\]+\.safetensors$/.test(file));
  if (!valid) {
    throw new FormatError(
      "weights_index",
      `${name} has no weight_map from tensor names to .safetensors files beside it.`,
      {
        do: "Fetch the index again.",
        data: { file: name },
      },
    );
  }
  return map as Record<string, string>;
}
