import { type Kernel, kernel } from "../gpu/kernel.ts";
import type { PlanBuilder } from "../gpu/plan_builder.ts";
import { dimValue } from "../gpu/plan_values.ts";
import { type Dim, requireDims, type Tensor } from "../gpu/tensor.ts";
import { wgsl } from "../gpu/wgsl.gen.ts";
import { columnSums } from "./column_sum.ts";
import { byFours, rowGrid } from "./grid.ts";
import type { Op } from "./op.ts";

const forward = kernel("rmsnorm", wgsl.rmsnorm, "forward", ["x", "w", "y", "rstd"]);
const backward = kernel("rmsnorm", wgsl.rmsnorm, "backward", ["x", "w", "rstd", "dy", "dx"]);
const forwardByFours = kernel("rmsnorm", wgsl.rmsnorm, "forward_4", ["x_4", "w_4", "y_4", "rstd"]);
const backwardByFours = kernel("rmsnorm", wgsl.rmsnorm, "backward_4", ["x_4", "w_4", "rstd", "dy_4", "dx_4"]);
const gainPart = kernel("rmsnorm", wgsl.rmsnorm, "gain_part", ["x", "rstd", "dy", "part"]);

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
    if (byFours(plan.device, cols)) overRows(plan, forwardByFours, x, { x_4: x, w_4: w, y_4: y, rstd }, o, 0);
    else overRows(plan, forward, x, { x, w, y, rstd }, o, 0);
    return { out: { y }, saved: { x, w, rstd, options: o } };
  },

  backward(plan, { x, w, rstd, options }, { y: dy }, into) {
    const dx = into.x ?? plan.temp(x.shape, "rmsnorm.dx");
    if (into.w !== undefined) gainGradient(plan, { x, rstd, dy, dw: into.w }, options);
    const add = into.x === undefined ? 0 : 1;
    if (byFours(plan.device, x.shape[1] ?? 0)) {
      overRows(plan, backwardByFours, x, { x_4: x, w_4: w, rstd, dy_4: dy, dx_4: dx }, options, add);
    } else overRows(plan, backward, x, { x, w, rstd, dy, dx }, options, add);
    return { x: dx, w: into.w };
  },
};

function scalars(x: Tensor, o: RmsnormOptions, add: 0 | 1): Record<string, Dim> {
  const [rows = 0, cols = 0] = x.shape;
  return { rows, cols, eps: o.eps, shift: o.shift, add };
}

function overRows(
  plan: PlanBuilder,
  k: Kernel,
  x: Tensor,
  tensors: Record<string, Tensor>,
  o: RmsnormOptions,
  add: 0 | 1,
): void {
  const grid = rowGrid(plan.device);
  plan.dispatch(k, {
    tensors,
    scalars: scalars(x, o, add),
    constants: grid.constants,
    workgroups: (v) => grid.groups(dimValue(x.shape[0] ?? 0, v)),
  });
}

function gainGradient(
  plan: PlanBuilder,
  t: { x: Tensor; rstd: Tensor; dy: Tensor; dw: Tensor },
  o: RmsnormOptions,
): void {
  const [rows = 0, cols = 0] = t.x.shape;
  const { part, constants, workgroups, addUp } = columnSums(plan, rows, cols as number, t.dw, "rmsnorm.part");
  plan.dispatch(gainPart, {
    tensors: { x: t.x, rstd: t.rstd, dy: t.dy, part },
    scalars: scalars(t.x, o, 0),
    constants,
    workgroups,
  });
  addUp();
}
