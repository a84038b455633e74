import type { Dim, DynDim } from "./tensor.ts";

/** A number that is given anew at each replay (learning rate, seed, …). */
export interface DynScalar {
  readonly kind: "scalar";
  readonly name: string;
}

/** A scalar argument of a kernel: fixed, a dynamic size, a dynamic number, or computed from them at replay. */
export type ScalarArg = number | DynDim | DynScalar | ((values: PlanValues) => number);

/** Values of a plan's dynamic sizes and numbers at one replay. */
export type PlanValues = Readonly<Record<string, number>>;

/** Workgroup counts: fixed or computed from the dynamic sizes. Any zero skips the dispatch. */
export type Workgroups = readonly number[] | ((values: PlanValues) => readonly number[]);

/** Value of a size at a replay. */
export function dimValue(dim: Dim, values: PlanValues): number {
  return typeof dim === "number" ? dim : (values[dim.name] as number);
}

/** Workgroups for `count` independent workgroups, split in two dimensions past the limit of 65,535. */
export function linearGroups(count: number): readonly number[] {
  return count <= 65535 ? [count, 1, 1] : [65535, Math.ceil(count / 65535), 1];
}
