import { FormatError } from "../core/errors.ts";
import { memorySource } from "../io/byte_source.ts";
import { readTensor } from "../io/safetensors.ts";
import { readSafetensorsHeader, type TensorEntry } from "../io/safetensors_header.ts";
import type { WeightSource } from "./load_weights.ts";

/** A file's tensors with its metadata. */
export interface MemoryWeights extends WeightSource {
  readonly metadata: Readonly<Record<string, string>>;
}

/**
 * The tensors of a safetensors file held in memory (a checkpoint's bytes).
 * @throws FormatError one of `readSafetensorsHeader`'s
 */
export async function memoryWeights(path: string, bytes: Uint8Array): Promise<MemoryWeights> {
  const source = memorySource(path, bytes);
  const { tensors, metadata } = await readSafetensorsHeader(source);
  const entries = new Map(tensors.map((t) => [t.name, t]));
  const entry = (name: string): TensorEntry => {
    const found = entries.get(name);
    if (found !== undefined) return found;
    throw new FormatError("tensor_missing", `${path} has no tensor "${name}" among its ${entries.size}.`, {
      do: "Save the checkpoint again; it does not hold what this model needs.",
      data: { file: path, tensor: name },
    });
  };
  return { path, metadata, names: [...entries.keys()], entry, read: (name) => readTensor(source, entry(name)) };
}
