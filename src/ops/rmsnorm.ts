import { type Kernel, kernel } from "../gpu/kernel.ts";
import type { PlanBuilder } from "../gpu/plan_builder.ts";
import { dimValue, linearGroups, type PlanValues } from "../gpu/plan_values.ts";
import { type Dim, dimMax, requireDims, type Tensor } from "../gpu/tensor.ts";
import { wgsl } from "../gpu/wgsl.gen.ts";
import type { Op } from "./op.ts";

const forward = kernel("rmsnorm", wgsl.rmsnorm, "forward", ["x", "w", "y", "rstd"]);
const backward = kernel("rmsnorm", wgsl.rmsnorm, "backward", ["x", "w", "rstd", "dy", "dx"]);
const gainPart = kernel("rmsnorm", wgsl.rmsnorm, "gain_part", ["x", "rstd", "dy", "part"]);
const gainSum = kernel("rmsnorm", wgsl.rmsnorm, "gain_sum", ["part", "dw"]);

const workgroup = 64;
/** Rows summed by one invocation of gain_part. */
const rowsPerPart = 32;

/** Inputs of RMSNorm. */
export interface RmsnormIn {
  /** (R,C) */
  readonly x: Tensor;
  /** (C) */
  readonly w: Tensor;
}

/** Options of RMSNorm. `shift` is added to the weight: 1 for zero-centred weights (Gemma). */
export interface RmsnormOptions {
  eps: number;
  shift: number;
}

/** What RMSNorm's backward needs. rstd (R). */
export interface RmsnormSaved {
  readonly x: Tensor;
  readonly w: Tensor;
  readonly rstd: Tensor;
  readonly options: RmsnormOptions;
}

const defaults: RmsnormOptions = { eps: 1e-5, shift: 0 };

function rowGroups(rows: Dim): (v: PlanValues) => readonly number[] {
  return (v) => linearGroups(dimValue(rows, v));
}

/**
 * RMSNorm over the last axis: y = x * rstd * (w + shift), rstd = 1 / sqrt(mean(x^2) + eps).
 * x (R,C), w (C) -> y (R,C); saves rstd (R).
 * @throws ShapeError when w is not (C). Source: Zhang & Sennrich 2019, arXiv:1910.07467.
 */
export const rmsnorm: Op<RmsnormIn, { readonly y: Tensor }, RmsnormSaved, RmsnormOptions> = {
  name: "rmsnorm",
  defaults,
  parameters: ["w"],
  activations: ["x"],

  forward(plan, { x, w }, options) {
    const o = { ...defaults, ...options };
    const [rows = 0, cols = 0] = x.shape;
    requireDims("rmsnorm.x", [rows, cols], x, "Pass a matrix of rows.");
    requireDims("rmsnorm.w", [cols], w, "Pass weights as long as a row.");
    const y = plan.temp(x.shape, "rmsnorm.y");
    const rstd = plan.temp([rows], "rmsnorm.rstd");
    plan.dispatch(forward, {
      tensors: { x, w, y, rstd },
      scalars: scalars(rows, cols, o),
      constants: { WG: workgroup },
      workgroups: rowGroups(rows),
    });
    return { out: { y }, saved: { x, w, rstd, options: o } };
  },

  backward(plan, { x, w, rstd, options }, { y: dy }, into) {
    const [rows = 0, cols = 0] = x.shape;
    const dx = into.x ?? plan.temp(x.shape, "rmsnorm.dx");
    const args = scalars(rows, cols, options);
    if (into.w !== undefined) gainGradient(plan, { x, rstd, dy, dw: into.w }, args, rows, cols);
    plan.dispatch(backward, {
      tensors: { x, w, rstd, dy, dx },
      scalars: { ...args, add: into.x === undefined ? 0 : 1 },
      constants: { WG: workgroup },
      workgroups: rowGroups(rows),
    });
    return { x: dx, w: into.w };
  },
};

function scalars(rows: Dim, cols: Dim, o: RmsnormOptions): Record<string, Dim> {
  return { rows, cols, eps: o.eps, shift: o.shift, add: 0, parts: 0 };
}

function gainGradient(
  plan: PlanBuilder,
  t: { x: Tensor; rstd: Tensor; dy: Tensor; dw: Tensor },
  args: Record<string, Dim>,
  rows: Dim,
  cols: Dim,
): void {
  const columnGroups = Math.ceil(dimMax(cols) / workgroup);
  const parts = (v: PlanValues): number => Math.ceil(dimValue(rows, v) / rowsPerPart);
  const part = plan.temp([Math.ceil(dimMax(rows) / rowsPerPart), cols], "rmsnorm.part");
  const run = (k: Kernel, tensors: Record<string, Tensor>, workgroups: (v: PlanValues) => number[]): void =>
    plan.dispatch(k, {
      tensors,
      scalars: { ...args, parts },
      constants: { WG: workgroup, ROWS: rowsPerPart },
      workgroups,
    });
  run(gainPart, { x: t.x, rstd: t.rstd, dy: t.dy, part }, (v) => [columnGroups, parts(v)]);
  run(gainSum, { part, dw: t.dw }, () => [columnGroups]);
}
