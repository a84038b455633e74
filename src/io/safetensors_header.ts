import { FormatError } from "../core/errors.ts";
import { type Shape, sizeOf } from "../core/shape.ts";
import type { ByteSource } from "./byte_source.ts";

/** Bytes of one element of every type the format names. Source: safetensors `Dtype`. */
const dtypeBytes: Readonly<Record<string, number>> = {
  BOOL: 1,
  U8: 1,
  I8: 1,
  F8_E4M3: 1,
  F8_E5M2: 1,
  I16: 2,
  U16: 2,
  F16: 2,
  BF16: 2,
  I32: 4,
  U32: 4,
  F32: 4,
  I64: 8,
  U64: 8,
  F64: 8,
};

/** The reference implementation's limit for the JSON header. */
const maxHeaderBytes = 100_000_000;

/** Where one tensor lies in its file. */
export interface TensorEntry {
  name: string;
  /** One of the format's type names; only F32, F16 and BF16 can be read as floats. */
  dtype: string;
  shape: Shape;
  /** From the start of the file. */
  offset: number;
  sizeBytes: number;
}

/** A file's table of contents. */
export interface SafetensorsHeader {
  /** In the order in which their bytes lie. */
  tensors: TensorEntry[];
  metadata: Record<string, string>;
}

/**
 * Reads and checks the header: 8 bytes little-endian length, JSON, then data that the tensors cover without gap or
 * overlap. Source: https://github.com/huggingface/safetensors (format section).
 * @throws FormatError "safetensors_truncated" | "safetensors_header" | "safetensors_dtype" | "safetensors_offsets"
 */
export async function readSafetensorsHeader(source: ByteSource): Promise<SafetensorsHeader> {
  if (source.sizeBytes < 8) {
    throw truncated(source, `${source.sizeBytes} bytes are too few for the header length, which takes 8`);
  }
  const lengthBytes = await source.read(0, 8);
  const length = Number(new DataView(lengthBytes.buffer, lengthBytes.byteOffset, 8).getBigUint64(0, true));
  if (length > maxHeaderBytes) {
    throw badHeader(source, `the header length is ${length} bytes, more than the ${maxHeaderBytes} allowed`);
  }
  if (8 + length > source.sizeBytes) {
    throw truncated(source, `the header should be ${length} bytes, but only ${source.sizeBytes - 8} follow its length`);
  }
  const json = parseHeaderJson(source, await source.read(8, length));
  const { __metadata__: metadata = {}, ...entries } = json;
  const tensors = Object.entries(entries).map(([name, value]) => parseEntry(source, name, value, 8 + length));
  tensors.sort((a, b) => a.offset - b.offset || a.sizeBytes - b.sizeBytes);
  checkCoverage(source, tensors, 8 + length);
  return { tensors, metadata: parseMetadata(source, metadata) };
}

function parseHeaderJson(source: ByteSource, bytes: Uint8Array): Record<string, unknown> {
  let json: unknown;
  try {
    json = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch (cause) {
    throw badHeader(source, `the ${bytes.length} bytes after the length are not JSON`, cause);
  }
  if (!isRecord(json)) throw badHeader(source, "the header is not a JSON object");
  return json;
}

function parseMetadata(source: ByteSource, metadata: unknown): Record<string, string> {
  if (!isRecord(metadata) || Object.values(metadata).some((v) => typeof v !== "string")) {
    throw badHeader(source, "__metadata__ is not an object of strings");
  }
  return metadata as Record<string, string>;
}

function parseEntry(source: ByteSource, name: string, value: unknown, dataStart: number): TensorEntry {
  if (!isRecord(value)) throw badHeader(source, `tensor "${name}" is not described by an object`);
  const { dtype, shape, data_offsets: offsets } = value;
  if (typeof dtype !== "string" || !isNaturalList(shape) || !isNaturalList(offsets) || offsets.length !== 2) {
    throw badHeader(source, `tensor "${name}" lacks a dtype, a shape or two data_offsets`);
  }
  const elementBytes = dtypeBytes[dtype];
  if (elementBytes === undefined) {
    throw new FormatError("safetensors_dtype", `${source.name}: tensor "${name}" has the unknown type ${dtype}.`, {
      do: "Save the tensor as F32, F16 or BF16.",
      data: { file: source.name, tensor: name, dtype },
    });
  }
  const [begin, end] = offsets as [number, number];
  const sizeBytes = sizeOf(shape) * elementBytes;
  if (end - begin !== sizeBytes) {
    throw badOffsets(
      source,
      name,
      `has ${end - begin} bytes (data_offsets ${begin} to ${end}), but ${dtype} (${shape.join(",")}) takes ${sizeBytes}`,
    );
  }
  return { name, dtype, shape, offset: dataStart + begin, sizeBytes };
}

/** Every byte after the header belongs to exactly one tensor. */
function checkCoverage(source: ByteSource, tensors: readonly TensorEntry[], dataStart: number): void {
  let end = dataStart;
  for (const tensor of tensors) {
    if (tensor.offset + tensor.sizeBytes > source.sizeBytes) {
      throw truncated(
        source,
        `tensor "${tensor.name}" ends at byte ${tensor.offset + tensor.sizeBytes}, but the file has ${source.sizeBytes}`,
      );
    }
    if (tensor.offset !== end) {
      const fault = tensor.offset < end ? "overlaps the tensor before it" : "leaves a gap before it";
      throw badOffsets(source, tensor.name, `${fault}: it starts at byte ${tensor.offset}, ${end} was expected`);
    }
    end += tensor.sizeBytes;
  }
  if (end !== source.sizeBytes) {
    throw new FormatError(
      "safetensors_offsets",
      `${source.name}: ${source.sizeBytes - end} bytes after the last tensor belong to none.`,
      { do: "Write the file again; its header does not describe all of it.", data: { file: source.name, end } },
    );
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isNaturalList(value: unknown): value is number[] {
  return Array.isArray(value) && value.every((n) => Number.isSafeInteger(n) && n >= 0);
}

function truncated(source: ByteSource, fault: string): FormatError {
  return new FormatError("safetensors_truncated", `${source.name} is cut short: ${fault}.`, {
    do: "Fetch or save the file again.",
    data: { file: source.name, sizeBytes: source.sizeBytes },
  });
}

function badHeader(source: ByteSource, fault: string, cause?: unknown): FormatError {
  return new FormatError("safetensors_header", `${source.name} is not a safetensors file: ${fault}.`, {
    do: "Check that the path names a .safetensors file that was downloaded whole.",
    data: { file: source.name },
    cause,
  });
}

function badOffsets(source: ByteSource, tensor: string, fault: string): FormatError {
  return new FormatError("safetensors_offsets", `${source.name}: tensor "${tensor}" ${fault}.`, {
    do: "Write the file again; its header contradicts itself.",
    data: { file: source.name, tensor },
  });
}
