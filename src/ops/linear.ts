import { kernel } from "../gpu/kernel.ts";
import type { PlanBuilder } from "../gpu/plan_builder.ts";
import { type Dim, requireDims, type Tensor } from "../gpu/tensor.ts";
import { wgsl } from "../gpu/wgsl.gen.ts";
import { columnSums } from "./column_sum.ts";
import { matmul } from "./matmul/matmul.ts";
import type { Op } from "./op.ts";
import { type RowWindow, rowWindows } from "./windows.ts";

const biasPart = kernel("linear", wgsl.linear, "bias_part");

/** Inputs of linear. */
export interface LinearIn {
  /** (T,K) */
  readonly x: Tensor;
  /** (N,K) with layout "out_in", (K,N) with "in_out"; frozen ones may be f16 or i8 (with `scales`) */
  readonly w: Tensor;
  /** (N) */
  readonly bias?: Tensor;
  /** (T,N); its gradient is dy itself and is not returned. */
  readonly residual?: Tensor;
}

/** Options of linear. */
export interface LinearOptions {
  /** "out_in": (N,K), as most checkpoints have it; "in_out": (K,N), as GPT-2's. */
  layout: "out_in" | "in_out";
  /** Bounds the binding of one window of an out_in matrix, for tests. */
  windowBytes: number;
}

/** What linear's backward needs. */
export interface LinearSaved {
  readonly x: Tensor;
  readonly w: Tensor;
  readonly options: LinearOptions;
}

const defaults: LinearOptions = { layout: "out_in", windowBytes: Number.POSITIVE_INFINITY };

function sizes(x: Tensor, w: Tensor, { layout }: Pick<LinearOptions, "layout">): { rows: Dim; K: number; N: number } {
  const [rows = 0, inner = 0] = x.shape;
  const outer = w.shape[layout === "out_in" ? 0 : 1] ?? 0;
  return { rows, K: inner as number, N: outer as number };
}

/**
 * Affine map with an optional sum onto a residual stream: y = x W + bias + residual, W of (K,N) however it is stored.
 * x (T,K) -> y (T,N); an out_in matrix larger than one storage binding is read in windows, forward only. dx = dy W^T, dW += x^T dy, dbias += column sums of dy; nothing is transposed in memory.
 * @throws ShapeError when a shape does not fit.
 */
export const linear: Op<LinearIn, { readonly y: Tensor }, LinearSaved, LinearOptions> = {
  name: "linear",
  defaults,
  parameters: ["w", "bias"],
  activations: ["x"],

  forward(plan, { x, w, bias, residual }, options) {
    const o = { ...defaults, ...options };
    const { rows, K, N } = sizes(x, w, o);
    requireDims("linear.x", [rows, K], x, "Pass a matrix of rows.");
    requireDims("linear.w", o.layout === "out_in" ? [N, K] : [K, N], w, "Pass a matrix in the layout of the options.");
    if (bias !== undefined) requireDims("linear.bias", [N], bias, "Pass one number per output.");
    if (residual !== undefined) requireDims("linear.residual", [rows, N], residual, "Pass a tensor of y's shape.");
    const y = plan.temp([rows, N], "linear.y");
    const form = o.layout === "out_in" ? "NT" : "NN";
    for (const window of windowsOf(plan, w, o)) {
      const at = window.rows === N ? {} : { columns: { first: window.first, total: N } };
      matmul(plan, { a: x, b: window.view, c: y, form, M: rows, N: window.rows, K, bias, residual, ...at });
    }
    return { out: { y }, saved: { x, w, options: o } };
  },

  backward(plan, { x, w, options }, { y: dy }, into) {
    const { rows, K, N } = sizes(x, w, options);
    if (into.bias !== undefined) biasGradient(plan, dy, rows, N, into.bias);
    if (into.w !== undefined) {
      const [a, b, M, columns] = options.layout === "out_in" ? ([dy, x, N, K] as const) : ([x, dy, K, N] as const);
      matmul(plan, { a, b, c: into.w, form: "TN", M, N: columns, K: rows, accumulate: true });
    }
    const dx = into.x ?? plan.temp(x.shape, "linear.dx");
    const form = options.layout === "out_in" ? "NN" : "NT";
    matmul(plan, { a: dy, b: w, c: dx, form, M: rows, N: K, K: N, accumulate: into.x !== undefined });
    return { x: dx, w: into.w, bias: into.bias };
  },
};

/** A matrix that exceeds one storage binding in windows of its outputs; one whose outputs are its columns is whole. */
function windowsOf(plan: PlanBuilder, w: Tensor, { layout, windowBytes }: LinearOptions): RowWindow[] {
  if (layout === "out_in") return rowWindows(plan.device, w, windowBytes);
  return [{ first: 0, rows: w.shape[1] as number, view: w }];
}

function biasGradient(plan: PlanBuilder, dy: Tensor, rows: Dim, cols: number, sum: Tensor): void {
  const { part, constants, workgroups, addUp } = columnSums(plan, rows, cols, sum, "linear.part");
  plan.dispatch(biasPart, {
    tensors: { dy, part },
    scalars: { rows, cols },
    constants,
    workgroups,
  });
  addUp();
}
