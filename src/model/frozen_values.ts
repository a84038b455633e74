import { blockColumns } from "../core/dtype.ts";

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
