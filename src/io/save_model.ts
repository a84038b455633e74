import { sizeOf } from "../core/shape.ts";
import type { Files } from "../schema/files.ts";
import { fileElementBytes } from "./float_bytes.ts";
import { type TensorSource, writeSafetensors } from "./safetensors.ts";

/** What a saved model folder consists of. */
export interface ModelToSave {
  /** config.json as it shall stand there. */
  config: Readonly<Record<string, unknown>>;
  tensors: readonly TensorSource[];
  /** Largest data size of one file; a single larger tensor gets a file of its own. Unlimited by default. */
  maxShardBytes?: number;
}

/**
 * Writes config.json and model.safetensors, or shards with an index, as Hugging Face's loaders expect them. Weights
 * come first and config.json last: a folder with a config.json is complete.
 * @throws EnvironmentError "disk_full"; ShapeError when a tensor's data is not its shape's size
 */
export async function saveModel(files: Files, folder: string, model: ModelToSave): Promise<void> {
  await files.makeFolder(folder);
  await files.remove(files.join(folder, "config.json"));
  const shards = splitShards(model.tensors, model.maxShardBytes ?? Number.POSITIVE_INFINITY);
  const metadata = { format: "pt" };
  if (shards.length <= 1) {
    await writeSafetensors(files, files.join(folder, "model.safetensors"), model.tensors, metadata);
    await files.remove(files.join(folder, "model.safetensors.index.json"));
  } else {
    const weightMap: Record<string, string> = {};
    for (const [i, shard] of shards.entries()) {
      const name = `model-${number5(i + 1)}-of-${number5(shards.length)}.safetensors`;
      for (const tensor of shard) weightMap[tensor.name] = name;
      await writeSafetensors(files, files.join(folder, name), shard, metadata);
    }
    const totalSize = model.tensors.reduce((sum, tensor) => sum + tensorBytes(tensor), 0);
    const index = { metadata: { total_size: totalSize }, weight_map: weightMap };
    await files.write(files.join(folder, "model.safetensors.index.json"), `${JSON.stringify(index, null, 2)}\n`);
    await files.remove(files.join(folder, "model.safetensors"));
  }
  await files.write(files.join(folder, "config.json"), `${JSON.stringify(model.config, null, 2)}\n`);
}

/** Tensors in their given order, cut where the next one would exceed the limit. */
function splitShards(tensors: readonly TensorSource[], maxBytes: number): TensorSource[][] {
  const shards: TensorSource[][] = [];
  let shard: TensorSource[] = [];
  let shardBytes = 0;
  for (const tensor of tensors) {
    const bytes = tensorBytes(tensor);
    if (shard.length > 0 && shardBytes + bytes > maxBytes) {
      shards.push(shard);
      shard = [];
      shardBytes = 0;
    }
    shard.push(tensor);
    shardBytes += bytes;
  }
  if (shard.length > 0) shards.push(shard);
  return shards;
}

function tensorBytes(tensor: TensorSource): number {
  return sizeOf(tensor.shape) * fileElementBytes[tensor.dtype];
}

function number5(n: number): string {
  return String(n).padStart(5, "0");
}
