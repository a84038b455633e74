import { requireDims, type Tensor } from "../gpu/tensor.ts";

/** Shape of packed projections: each row is [query heads | key heads | value heads], every head `headDim` wide. */
export interface QkvShape {
  heads: number;
  kvHeads: number;
  headDim: number;
}

/** Number of heads in a row, values included. */
export function headsPerRow(s: QkvShape): number {
  return s.heads + 2 * s.kvHeads;
}

/** @throws ShapeError when the tensor is not (T,(H+2KV)*D). */
export function requireQkv(place: string, s: QkvShape, qkv: Tensor): void {
  const [rows = 0] = qkv.shape;
  requireDims(place, [rows, headsPerRow(s) * s.headDim], qkv, "Pass rows of (heads + 2 kvHeads) * headDim.");
}
