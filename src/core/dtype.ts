/** Element types of tensors on the device. */
export type DType = "f32" | "u32" | "i32";

/** Element types of tensors in a file. */
export type FileDType = "F32" | "F16" | "BF16";

/** Bytes of one element on the device. */
export const elementBytes: Record<DType, number> = { f32: 4, u32: 4, i32: 4 };
