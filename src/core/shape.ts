/** Sizes of a tensor's axes, outermost first. */
export type Shape = readonly number[];

/** Number of elements of a shape; 1 for a scalar. */
export function sizeOf(shape: Shape): number {
  let n = 1;
  for (const d of shape) n *= d;
  return n;
}

/** True when both shapes have the same axes. */
export function sameShape(a: Shape, b: Shape): boolean {
  return a.length === b.length && a.every((d, i) => d === b[i]);
}

/** Smallest multiple of `step` that is at least `n`. */
export function alignUp(n: number, step: number): number {
  return Math.ceil(n / step) * step;
}
