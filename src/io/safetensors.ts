import type { FileDType } from "../core/dtype.ts";
import { FormatError, ShapeError } from "../core/errors.ts";
import { type Shape, sizeOf } from "../core/shape.ts";
import type { Files } from "../schema/files.ts";
import type { ByteSource } from "./byte_source.ts";
import { decodeFloats, encodeFloats, fileElementBytes } from "./float_bytes.ts";
import type { TensorEntry } from "./safetensors_header.ts";

/** Bytes read or written at a time, so that a tensor is never in memory twice. */
const chunkBytes = 8 * 1024 * 1024;

/** A tensor to be written; `load` is called once, when its turn comes. */
export interface TensorSource {
  name: string;
  /** Type in the file; values are rounded to it. */
  dtype: FileDType;
  shape: Shape;
  load(): Float32Array | Promise<Float32Array>;
}

/** True for types that can be read as f32 without loss. */
export function isFloatDType(dtype: string): dtype is FileDType {
  return dtype in fileElementBytes;
}

/**
 * One tensor as f32, row-major.
 * @throws FormatError "safetensors_dtype" for a type other than F32, F16, BF16; "file_truncated"
 */
export async function readTensor(source: ByteSource, entry: TensorEntry): Promise<Float32Array> {
  if (!isFloatDType(entry.dtype)) {
    throw new FormatError(
      "safetensors_dtype",
      `${source.name}: tensor "${entry.name}" is ${entry.dtype}; weights are read from F32, F16 or BF16.`,
      { do: "Convert the tensor, or leave it out.", data: { file: source.name, tensor: entry.name } },
    );
  }
  const out = new Float32Array(sizeOf(entry.shape));
  const elementBytes = fileElementBytes[entry.dtype];
  for (let done = 0; done < entry.sizeBytes; done += chunkBytes) {
    const bytes = await source.read(entry.offset + done, Math.min(chunkBytes, entry.sizeBytes - done));
    decodeFloats(entry.dtype, bytes, out, done / elementBytes);
  }
  return out;
}

/** The bytes of a whole safetensors file. @throws ShapeError when a tensor's data is not its shape's size */
export async function encodeSafetensors(
  tensors: readonly TensorSource[],
  metadata: Record<string, string> = {},
): Promise<Uint8Array> {
  const ordered = fileOrder(tensors);
  const header = headerBytes(ordered, metadata);
  const out = new Uint8Array(header.length + ordered.reduce((sum, t) => sum + tensorBytes(t), 0));
  out.set(header);
  let at = header.length;
  for (const tensor of ordered) {
    const bytes = encodeFloats(tensor.dtype, await loadChecked(tensor));
    out.set(bytes, at);
    at += bytes.length;
  }
  return out;
}

/**
 * Writes a safetensors file tensor by tensor and puts it in place at the end, so that `path` holds the old file or the
 * whole new one.
 * @throws ShapeError when a tensor's data is not its shape's size; EnvironmentError "disk_full"
 */
export async function writeSafetensors(
  files: Files,
  path: string,
  tensors: readonly TensorSource[],
  metadata: Record<string, string> = {},
): Promise<void> {
  const ordered = fileOrder(tensors);
  const partial = `${path}.partial`;
  await files.write(partial, headerBytes(ordered, metadata));
  for (const [i, tensor] of ordered.entries()) {
    const values = await loadChecked(tensor);
    const step = chunkBytes / 4;
    for (let at = 0; at < values.length; at += step) {
      await files.append(partial, encodeFloats(tensor.dtype, values.subarray(at, at + step)));
    }
    if (i === ordered.length - 1) await files.append(partial, new Uint8Array(0), { flush: true });
  }
  await files.rename(partial, path);
}

/** Wider elements first, then by name, as the reference implementation writes them: every tensor starts aligned. */
function fileOrder(tensors: readonly TensorSource[]): TensorSource[] {
  const seen = new Set<string>();
  for (const { name } of tensors) {
    if (seen.has(name) || name === "__metadata__") {
      throw new FormatError("safetensors_header", `Two tensors to be saved are named "${name}".`, {
        do: "Give every tensor its own name; __metadata__ is reserved.",
        data: { tensor: name },
      });
    }
    seen.add(name);
  }
  return [...tensors].sort(
    (a, b) => fileElementBytes[b.dtype] - fileElementBytes[a.dtype] || (a.name < b.name ? -1 : 1),
  );
}

function tensorBytes(tensor: TensorSource): number {
  return sizeOf(tensor.shape) * fileElementBytes[tensor.dtype];
}

function headerBytes(ordered: readonly TensorSource[], metadata: Record<string, string>): Uint8Array {
  const entries: [string, unknown][] = Object.keys(metadata).length > 0 ? [["__metadata__", metadata]] : [];
  let offset = 0;
  for (const tensor of ordered) {
    const end = offset + tensorBytes(tensor);
    entries.push([tensor.name, { dtype: tensor.dtype, shape: tensor.shape, data_offsets: [offset, end] }]);
    offset = end;
  }
  const json = new TextEncoder().encode(JSON.stringify(Object.fromEntries(entries)));
  const length = Math.ceil(json.length / 8) * 8;
  const out = new Uint8Array(8 + length).fill(0x20, 8);
  new DataView(out.buffer).setBigUint64(0, BigInt(length), true);
  out.set(json, 8);
  return out;
}

async function loadChecked(tensor: TensorSource): Promise<Float32Array> {
  const values = await tensor.load();
  if (values.length !== sizeOf(tensor.shape)) {
    throw new ShapeError(
      `safetensors.${tensor.name}`,
      tensor.shape,
      [values.length],
      "Save data of the tensor's own shape.",
    );
  }
  return values;
}
