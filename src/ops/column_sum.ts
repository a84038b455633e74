import { kernel } from "../gpu/kernel.ts";
import type { PlanBuilder } from "../gpu/plan_builder.ts";
import { dimValue, type PlanValues } from "../gpu/plan_values.ts";
import { type Dim, dimMax, type Tensor } from "../gpu/tensor.ts";
import { wgsl } from "../gpu/wgsl.gen.ts";

const sumKernel = kernel("column_sum", wgsl.column_sum, "column_sum");

/** Rows that one invocation of a gradient kernel sums before the partial sums are added up. */
export const rowsPerPart = 32;

/** Invocations per workgroup of kernels that own columns. */
export const columnWorkgroup = 32;

/** Partial sums of a gradient over `rows`: (ceil(rows/rowsPerPart), columns). */
export function partialSums(plan: PlanBuilder, rows: Dim, columns: number, label: string): Tensor {
  return plan.temp([Math.ceil(dimMax(rows) / rowsPerPart), columns], label);
}

/** Number of partial sums of a replay. */
export function partCount(rows: Dim): (values: PlanValues) => number {
  return (v) => Math.ceil(dimValue(rows, v) / rowsPerPart);
}

/** Workgroups of a kernel that fills `partialSums`: columns along x, parts along y and z. */
export function partGroups(rows: Dim, columns: number): (values: PlanValues) => readonly number[] {
  const x = Math.ceil(columns / columnWorkgroup);
  const count = partCount(rows);
  return (v) => {
    const parts = count(v);
    return [x, Math.min(parts, 65535), Math.ceil(parts / 65535)];
  };
}

/** Records sum (C) += sum over the first ceil(rows/rowsPerPart) rows of part (P,C). */
export function columnSum(plan: PlanBuilder, part: Tensor, rows: Dim, sum: Tensor): void {
  const cols = part.shape[1] as number;
  plan.dispatch(sumKernel, {
    tensors: { part, sum },
    scalars: { parts: partCount(rows), cols },
    constants: { WG: columnWorkgroup },
    workgroups: [Math.ceil(cols / columnWorkgroup)],
  });
}
