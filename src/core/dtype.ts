/**
 * Element types of tensors on the device. f16 and i8 are packed, two and four to a u32 with the first lowest, and only
 * read: frozen weights. i8 has an f32 scale per `blockColumns` columns of a row.
 */
export type DType = "f32" | "u32" | "i32" | "f16" | "i8";

/** Element types of tensors in a file. */
export type FileDType = "F32" | "F16" | "BF16";

/** Bytes of one element on the device. */
export const elementBytes: Record<DType, number> = { f32: 4, u32: 4, i32: 4, f16: 2, i8: 1 };

/** Columns of an i8 matrix that share a scale; the width of such a matrix is a multiple of it. */
export const blockColumns = 64;
