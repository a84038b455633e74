import { modelTextFiles } from "../app/model_text_files.ts";
import type { FileDType } from "../core/dtype.ts";
import { FormatError } from "../core/errors.ts";
import { sizeOf } from "../core/shape.ts";
import type { HfConfig } from "../io/hf_config.ts";
import { isFloatDType, type TensorSource } from "../io/safetensors.ts";
import { saveModel } from "../io/save_model.ts";
import { weightsSha256 } from "../io/weights_hash.ts";
import { familyOf } from "../model/families/registry.ts";
import type { Files } from "../schema/files.ts";
import { type MergedFolder, openMerged } from "./merged_weights.ts";

/** What an export wrote. */
export interface ExportedModel {
  readonly tensors: number;
  /** Numbers in the tensors. */
  readonly parameters: number;
  /** Tensors of the source that carry no weights and were left out. */
  readonly leftOut: readonly string[];
  /** Over the tensors as written. */
  readonly weightsSha256: string;
  /** Names of the files, sorted. */
  readonly files: readonly string[];
}

/** Names of these types in config.json. */
const configDType: Readonly<Record<FileDType, string>> = { F32: "float32", F16: "float16", BF16: "bfloat16" };

/** Magnitudes from here on round to infinity. */
const overflow: Readonly<Record<FileDType, number>> = {
  F32: Number.POSITIVE_INFINITY,
  F16: 65520,
  BF16: 2 ** 128 - 2 ** 119,
};

/** Files a model folder may hold that an export replaces. */
const weightFile = /^model(-\d{5}-of-\d{5})?\.safetensors(\.index\.json|\.partial)?$/;

/**
 * Writes a model folder anew: config.json, model.safetensors in one file, and whatever says how its tokens are text. A
 * PEFT folder's adapter is merged into its base model's weights.
 * `dtype` null keeps each tensor's own type. What an earlier model left in `to` is removed, other files stay.
 * @throws FormatError of the source; "dtype_overflow" when a weight is too large for the type
 */
export async function exportModel(
  files: Files,
  from: string,
  to: string,
  dtype: FileDType | null,
): Promise<ExportedModel> {
  const folder = await openMerged(files, from);
  const isRedundant = redundancy(folder.config);
  const kept = folder.names.filter((name) => !isRedundant(name));
  const tensors = kept.map((name) => tensorSource(folder, name, dtype));
  // The first pass also finds what cannot be written, before anything is.
  const sha256 = await weightsSha256(tensors);
  const textFiles = await modelTextFiles(files, from);
  await removeModel(files, to, Object.keys(textFiles));
  await saveModel(files, to, { config: configOf(folder.config, dtype), tensors });
  for (const [name, bytes] of Object.entries(textFiles)) await files.write(files.join(to, name), bytes);
  return {
    tensors: tensors.length,
    parameters: tensors.reduce((sum, { shape }) => sum + sizeOf(shape), 0),
    leftOut: folder.names.filter(isRedundant),
    weightsSha256: sha256,
    files: ["config.json", "model.safetensors", ...Object.keys(textFiles)].sort(),
  };
}

/** Which tensors carry no weights, as the family knows; none where the family is not known. */
function redundancy(config: HfConfig): (name: string) => boolean {
  try {
    const family = familyOf(config);
    const description = family.describe(config);
    return (name) => family.isRedundant(name, description);
  } catch (thrown) {
    if (thrown instanceof FormatError) return () => false;
    throw thrown;
  }
}

/** @throws FormatError "safetensors_dtype" for a tensor of numbers that are no floats */
function tensorSource(folder: MergedFolder, name: string, dtype: FileDType | null): TensorSource {
  const { dtype: own, shape } = folder.entry(name);
  if (!isFloatDType(own)) {
    throw new FormatError("safetensors_dtype", `${folder.path}: tensor "${name}" is ${own}, not F32, F16 or BF16.`, {
      do: "Convert the tensor, or leave it out.",
      data: { folder: folder.path, tensor: name, dtype: own },
    });
  }
  const type = dtype ?? own;
  return { name, dtype: type, shape, load: async () => requireRange(await folder.read(name), folder.path, name, type) };
}

function requireRange(values: Float32Array, folder: string, tensor: string, dtype: FileDType): Float32Array {
  const limit = overflow[dtype];
  const large = values.find((v) => Math.abs(v) >= limit && Number.isFinite(v));
  if (large === undefined) return values;
  throw new FormatError("dtype_overflow", `${folder}: tensor "${tensor}" holds ${large}, too large for ${dtype}.`, {
    do: "Export as bf16 or f32.",
    data: { folder, tensor, value: large },
  });
}

function configOf({ raw }: HfConfig, dtype: FileDType | null): Record<string, unknown> {
  if (dtype === null) return { ...raw };
  return { ...raw, ["dtype" in raw ? "dtype" : "torch_dtype"]: configDType[dtype] };
}

/** Removes a model that lies in the folder, and text files that the new one does not have. */
async function removeModel(files: Files, folder: string, textNames: readonly string[]): Promise<void> {
  if (!(await files.exists(folder))) return;
  const old = Object.keys(await modelTextFiles(files, folder)).filter((name) => !textNames.includes(name));
  const weights = (await files.list(folder)).map(({ name }) => name).filter((name) => weightFile.test(name));
  for (const name of ["config.json", ...weights, ...old]) await files.remove(files.join(folder, name));
}
