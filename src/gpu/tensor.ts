import { type DType, elementBytes } from "../core/dtype.ts";
import { ShapeError } from "../core/errors.ts";
import type { PoolBuffer } from "./pool.ts";

/** A size that is set anew at each replay of a plan, up to `max`. */
export interface DynDim {
  readonly kind: "dyn";
  readonly name: string;
  readonly max: number;
}

/** One axis: fixed, or set at each replay. */
export type Dim = number | DynDim;

/** Where a tensor's bytes are: in a lasting buffer, or in a slot of a plan's arena. */
export type Storage =
  | { readonly kind: "buffer"; readonly buffer: PoolBuffer }
  | { readonly kind: "arena"; readonly slot: number };

/** A view of device memory: shape, element type, storage and byte offset (a multiple of the offset alignment). */
export interface Tensor {
  readonly shape: readonly Dim[];
  readonly dtype: DType;
  readonly storage: Storage;
  readonly offsetBytes: number;
  readonly label: string;
  /** Of an i8 matrix (R,C): (R, C / blockColumns) f32, the factor of each block. */
  readonly scales?: Tensor;
}

/** Largest value of a size. */
export function dimMax(dim: Dim): number {
  return typeof dim === "number" ? dim : dim.max;
}

/** Text of a size for messages: "64" or "T<=128". */
export function dimText(dim: Dim): string {
  return typeof dim === "number" ? String(dim) : `${dim.name}<=${dim.max}`;
}

/** True when both axes are the same number or the same dynamic size. */
export function sameDim(a: Dim, b: Dim): boolean {
  return typeof a === "number" || typeof b === "number" ? a === b : a.name === b.name && a.max === b.max;
}

/** Elements of a tensor at its largest. */
export function maxElements(shape: readonly Dim[]): number {
  return shape.reduce<number>((n, d) => n * dimMax(d), 1);
}

/** Bytes of a tensor at its largest. */
export function maxBytes(tensor: Pick<Tensor, "shape" | "dtype">): number {
  return maxElements(tensor.shape) * elementBytes[tensor.dtype];
}

/** A tensor over a lasting buffer. */
export function bufferTensor(
  buffer: PoolBuffer,
  shape: readonly Dim[],
  dtype: DType = "f32",
  offsetBytes = 0,
  label: string = buffer.label,
): Tensor {
  return { shape, dtype, storage: { kind: "buffer", buffer }, offsetBytes, label };
}

/** @throws ShapeError when the tensor's axes are not exactly `expected`. */
export function requireDims(place: string, expected: readonly Dim[], tensor: Tensor, advice: string): void {
  const same = expected.length === tensor.shape.length && expected.every((d, i) => sameDim(d, tensor.shape[i] as Dim));
  if (!same) throw new ShapeError(place, expected.map(dimText), tensor.shape.map(dimText), advice);
}
