import { FormatError } from "../core/errors.ts";
import { encodeSafetensors, type TensorSource } from "../io/safetensors.ts";
import { loadWeights, type SavedForm, type WeightSource } from "./load_weights.ts";
import { memoryWeights } from "./memory_weights.ts";
import { namedTensors } from "./model.ts";
import type { ParameterReader, TensorSink } from "./packed_tensors.ts";

/** Sets of tensors of one form, by the prefix their names get in a file. */
type Sets<T> = Readonly<Record<string, T>>;

/** Several sets (optimizer moments, say) as the bytes of one safetensors file, f32. */
export async function encodePacked(
  form: SavedForm,
  sets: Sets<ParameterReader>,
  metadata: Record<string, string>,
): Promise<Uint8Array> {
  const tensors: TensorSource[] = [];
  for (const [prefix, packed] of Object.entries(sets)) {
    tensors.push(...namedTensors(form, packed, "F32", prefix));
  }
  return encodeSafetensors(tensors, metadata);
}

/**
 * Fills the sets from what `encodePacked` returned; gives back its metadata.
 * @throws FormatError of a damaged file; "tensor_missing" | "tensor_shape" | "tensor_unknown" when it is another
 *   model's
 */
export async function decodePacked(
  form: SavedForm,
  sets: Sets<TensorSink>,
  name: string,
  bytes: Uint8Array,
): Promise<Readonly<Record<string, string>>> {
  const file = await memoryWeights(name, bytes);
  const stray = file.names.find((n) => !Object.keys(sets).some((prefix) => n.startsWith(prefix)));
  if (stray !== undefined) {
    throw new FormatError("tensor_unknown", `${name} holds "${stray}", which belongs to none of its sets.`, {
      do: "Resume from a checkpoint that Leyden saved.",
      data: { file: name, tensor: stray },
    });
  }
  for (const [prefix, packed] of Object.entries(sets)) {
    await loadWeights(withoutPrefix(file, prefix), form, packed);
  }
  return file.metadata;
}

/** The tensors whose names start with `prefix`, without it. */
function withoutPrefix(source: WeightSource, prefix: string): WeightSource {
  return {
    path: source.path,
    names: source.names.filter((n) => n.startsWith(prefix)).map((n) => n.slice(prefix.length)),
    entry: (name) => source.entry(prefix + name),
    read: (name) => source.read(prefix + name),
  };
}
