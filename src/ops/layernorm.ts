import { kernel } from "../gpu/kernel.ts";
import type { PlanBuilder } from "../gpu/plan_builder.ts";
import { dimValue, type ScalarArg } from "../gpu/plan_values.ts";
import { requireDims, type Tensor } from "../gpu/tensor.ts";
import { wgsl } from "../gpu/wgsl.gen.ts";
import { columnSums } from "./column_sum.ts";
import { rowGrid } from "./grid.ts";
import type { Into, Op } from "./op.ts";

const forward = kernel("layernorm", wgsl.layernorm, "forward", ["x", "w", "y", "mean", "rstd"]);
const forwardBiased = kernel("layernorm", wgsl.layernorm, "forward_biased", ["x", "w", "b", "y", "mean", "rstd"]);
const backward = kernel("layernorm", wgsl.layernorm, "backward", ["x", "w", "mean", "rstd", "dy", "dx"]);
const gainPart = kernel("layernorm", wgsl.layernorm, "gain_part", ["x", "mean", "rstd", "dy", "part_w", "part_b"]);

/** Inputs of LayerNorm. */
export interface LayernormIn {
  /** (R,C) */
  readonly x: Tensor;
  /** (C) */
  readonly w: Tensor;
  /** (C); none for models without biases. */
  readonly b: Tensor | undefined;
}

/** Options of LayerNorm. */
export interface LayernormOptions {
  eps: number;
}

/** What LayerNorm's backward needs. mean, rstd (R). */
export interface LayernormSaved {
  readonly x: Tensor;
  readonly w: Tensor;
  readonly mean: Tensor;
  readonly rstd: Tensor;
  readonly options: LayernormOptions;
}

const defaults: LayernormOptions = { eps: 1e-5 };

/**
 * LayerNorm over the last axis: y = (x - mean) / sqrt(var + eps) * w + b, var the biased variance.
 * x (R,C), w (C), b (C) or none -> y (R,C); saves mean, rstd (R).
 * @throws ShapeError when w or b is not (C). Source: Ba, Kiros, Hinton 2016, arXiv:1607.06450.
 */
export const layernorm: Op<LayernormIn, { readonly y: Tensor }, LayernormSaved, LayernormOptions> = {
  name: "layernorm",
  defaults,
  parameters: ["w", "b"],
  activations: ["x"],

  forward(plan, { x, w, b }, options) {
    const o = { ...defaults, ...options };
    const [rows = 0, cols = 0] = x.shape;
    requireDims("layernorm.x", [rows, cols], x, "Pass a matrix of rows.");
    requireDims("layernorm.w", [cols], w, "Pass weights as long as a row.");
    if (b !== undefined) requireDims("layernorm.b", [cols], b, "Pass a bias as long as a row, or none.");
    const y = plan.temp(x.shape, "layernorm.y");
    const mean = plan.temp([rows], "layernorm.mean");
    const rstd = plan.temp([rows], "layernorm.rstd");
    const grid = rowGrid(plan.device);
    plan.dispatch(b === undefined ? forward : forwardBiased, {
      tensors: { x, w, y, mean, rstd, ...(b === undefined ? {} : { b }) },
      scalars: scalars(x, o),
      constants: grid.constants,
      workgroups: (v) => grid.groups(dimValue(rows, v)),
    });
    return { out: { y }, saved: { x, w, mean, rstd, options: o } };
  },

  backward(plan, saved, { y: dy }, into) {
    const { x, w, mean, rstd, options } = saved;
    const [rows = 0] = x.shape;
    const dx = into.x ?? plan.temp(x.shape, "layernorm.dx");
    if (into.w !== undefined || into.b !== undefined) gainGradients(plan, saved, dy, into);
    const grid = rowGrid(plan.device);
    plan.dispatch(backward, {
      tensors: { x, w, mean, rstd, dy, dx },
      scalars: { ...scalars(x, options), add: into.x === undefined ? 0 : 1 },
      constants: grid.constants,
      workgroups: (v) => grid.groups(dimValue(rows, v)),
    });
    return { x: dx, w: into.w, b: into.b };
  },
};

function scalars(x: Tensor, o: LayernormOptions): Record<string, ScalarArg> {
  const [rows = 0, cols = 0] = x.shape;
  return { rows, cols, eps: o.eps, add: 0 };
}

function gainGradients(plan: PlanBuilder, saved: LayernormSaved, dy: Tensor, into: Into<LayernormIn>): void {
  const { x, mean, rstd, options } = saved;
  const [rows = 0, width = 0] = x.shape;
  const cols = width as number;
  const w = columnSums(plan, rows, cols, into.w, "layernorm.part_w");
  const b = columnSums(plan, rows, cols, into.b, "layernorm.part_b");
  plan.dispatch(gainPart, {
    tensors: { x, mean, rstd, dy, part_w: w.part, part_b: b.part },
    scalars: scalars(x, options),
    constants: w.constants,
    workgroups: w.workgroups,
  });
  w.addUp();
  b.addUp();
}
