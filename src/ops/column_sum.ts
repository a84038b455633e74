import { kernel } from "../gpu/kernel.ts";
import type { Constants } from "../gpu/pipelines.ts";
import type { PlanBuilder } from "../gpu/plan_builder.ts";
import { dimValue, type PlanValues, type Workgroups } from "../gpu/plan_values.ts";
import { type Dim, dimMax, type Tensor } from "../gpu/tensor.ts";
import { wgsl } from "../gpu/wgsl.gen.ts";

const sumKernel = kernel("column_sum", wgsl.column_sum, "column_sum");

/** Rows that one invocation of a gradient kernel sums before the partial sums are added up. */
const rowsPerPart = 32;

/** Invocations per workgroup of kernels that own columns. */
const columnWorkgroup = 32;

/** How a kernel sums rows into columns: where to, in which pieces, and what comes after it. */
export interface ColumnSums {
  readonly part: Tensor;
  /** WG, ROWS and CARRY of the kernel. */
  readonly constants: Constants;
  readonly workgroups: Workgroups;
  /** Records what adds the pieces to the sum. */
  addUp(): void;
}

/**
 * Sums over rows that are added to `sum` (C); left out, they go nowhere. On a software adapter one invocation per column
 * goes on from what the sum holds, row by row, so that rows in several batches give the same as in one, to the last bit.
 * On a GPU, which needs more invocations than that, parts of `rowsPerPart` rows are summed side by side and added up.
 */
export function columnSums(
  plan: PlanBuilder,
  rows: Dim,
  columns: number,
  sum: Tensor | undefined,
  label: string,
): ColumnSums {
  const x = Math.ceil(columns / columnWorkgroup);
  if (plan.device.caps.deviceClass === "software") {
    const constants = { WG: columnWorkgroup, ROWS: 0xffffffff, CARRY: 1 };
    return { part: sum ?? plan.temp([1, columns], label), constants, workgroups: [x], addUp: () => undefined };
  }
  const part = plan.temp([Math.ceil(dimMax(rows) / rowsPerPart), columns], label);
  const parts = (v: PlanValues): number => Math.ceil(dimValue(rows, v) / rowsPerPart);
  return {
    part,
    constants: { WG: columnWorkgroup, ROWS: rowsPerPart, CARRY: 0 },
    workgroups: (v) => [x, Math.min(parts(v), 65535), Math.ceil(parts(v) / 65535)],
    addUp: () => {
      if (sum === undefined) return;
      plan.dispatch(sumKernel, {
        tensors: { part, sum },
        scalars: { parts, cols: columns },
        constants: { WG: columnWorkgroup },
        workgroups: [x],
      });
    },
  };
}
