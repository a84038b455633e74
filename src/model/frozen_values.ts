import { blockColumns, type DType } from "../core/dtype.ts";
import { FormatError } from "../core/errors.ts";

/** An i8 matrix on the host: its bytes, and the factor of each block of `blockColumns` numbers. */
export interface Int8Values {
  readonly bytes: Int8Array;
  readonly scales: Float32Array;
}

/**
 * Rounds rows of whole blocks to i8: per block of 64 the scale is the largest magnitude / 127, so the error is at most
 * half of it. A block that holds a number that is not finite keeps that as its scale: it must not look sound.
 */
export function toInt8(values: Float32Array): Int8Values {
  const bytes = new Int8Array(values.length);
  const scales = new Float32Array(values.length / blockColumns);
  for (let block = 0; block < scales.length; block++) {
    const start = block * blockColumns;
    let largest = 0;
    for (let i = start; i < start + blockColumns; i++) {
      const size = Math.abs(values[i] as number);
      if (size > largest || Number.isNaN(size)) largest = size;
      if (Number.isNaN(size)) break;
    }
    scales[block] = largest / 127;
    if (largest === 0) continue;
    for (let i = start; i < start + blockColumns; i++) bytes[i] = Math.round(((values[i] as number) * 127) / largest);
  }
  return { bytes, scales };
}

/** The numbers that an i8 matrix stands for. */
export function fromInt8({ bytes, scales }: Int8Values): Float32Array {
  return Float32Array.from(bytes, (byte, i) => byte * (scales[Math.floor(i / blockColumns)] as number));
}

/** Magnitudes from here on round to infinity in f16. */
const f16Overflow = 65520;

/** Numbers of a part of a matrix in its own type, and the scales of its blocks for i8. */
export interface EncodedValues {
  readonly values: Float32Array | Uint16Array | Int8Array;
  readonly scales?: Float32Array;
}

/**
 * f32 numbers in a parameter's type. @throws FormatError "weights_overflow" for a number that f16 cannot hold, naming
 * the parameter
 */
export function encodeValues(name: string, dtype: DType, values: Float32Array): EncodedValues {
  if (dtype === "i8") {
    const { bytes, scales } = toInt8(values);
    return { values: bytes, scales };
  }
  if (dtype !== "f16") return { values };
  let largest = 0;
  for (let i = 0; i < values.length; i++) {
    const size = Math.abs(values[i] as number);
    if (size > largest && size !== Number.POSITIVE_INFINITY) largest = size;
  }
  if (largest >= f16Overflow) {
    throw new FormatError("weights_overflow", `Parameter "${name}" holds ${largest}, too large for f16.`, {
      do: "Set model.weights to f32.",
      data: { parameter: name, value: largest },
    });
  }
  const halves = new Float16Array(values);
  return { values: new Uint16Array(halves.buffer, halves.byteOffset, halves.length) };
}

/** The f32 numbers that a part of a parameter stands for. */
export function decodeValues(dtype: DType, bytes: ArrayBuffer, scales: ArrayBuffer): Float32Array {
  if (dtype === "i8") return fromInt8({ bytes: new Int8Array(bytes), scales: new Float32Array(scales) });
  return dtype === "f16" ? Float32Array.from(new Float16Array(bytes)) : new Float32Array(bytes);
}
