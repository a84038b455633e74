import type { FileDType } from "../core/dtype.ts";

/** Bytes of one element in a file. */
export const fileElementBytes: Record<FileDType, number> = { F32: 4, F16: 2, BF16: 2 };

/** The bytes as a typed array of the element size: a view where alignment allows, else a copy. */
function aligned(bytes: Uint8Array, elementBytes: number): Uint8Array {
  return bytes.byteOffset % elementBytes === 0 ? bytes : bytes.slice();
}

/**
 * Little-endian elements of a file written into `out` from `at`. F16 and BF16 values are exact in f32.
 * `bytes.length` must be a multiple of the element size.
 */
export function decodeFloats(dtype: FileDType, bytes: Uint8Array, out: Float32Array, at: number): void {
  const size = fileElementBytes[dtype];
  const data = aligned(bytes, size);
  const count = data.byteLength / size;
  switch (dtype) {
    case "F32":
      out.set(new Float32Array(data.buffer, data.byteOffset, count), at);
      return;
    case "F16":
      out.set(new Float16Array(data.buffer, data.byteOffset, count), at);
      return;
    case "BF16": {
      const words = new Uint16Array(data.buffer, data.byteOffset, count);
      const bits = new Uint32Array(out.buffer, out.byteOffset + at * 4, count);
      for (let i = 0; i < count; i++) bits[i] = (words[i] as number) << 16;
    }
  }
}

/**
 * f32 values as the little-endian bytes of a file: BF16 and F16 round to nearest even, too large becomes infinity, NaN
 * stays NaN. F32 is a view of `values`.
 */
export function encodeFloats(dtype: FileDType, values: Float32Array): Uint8Array {
  switch (dtype) {
    case "F32":
      return new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
    case "F16":
      return new Uint8Array(new Float16Array(values).buffer);
    case "BF16": {
      const bits = new Uint32Array(values.buffer, values.byteOffset, values.length);
      const words = new Uint16Array(values.length);
      for (let i = 0; i < bits.length; i++) words[i] = roundToBf16(bits[i] as number);
      return new Uint8Array(words.buffer);
    }
  }
}

/** Upper 16 bits of an f32 after rounding to nearest even. */
function roundToBf16(bits: number): number {
  // Adding the rounding term to a NaN could carry it into infinity, so a NaN keeps its sign and turns quiet.
  if ((bits & 0x7fffffff) > 0x7f800000) return (bits >>> 16) | 0x40;
  return (bits + 0x7fff + ((bits >>> 16) & 1)) >>> 16;
}
