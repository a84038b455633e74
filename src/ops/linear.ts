import { kernel } from "../gpu/kernel.ts";
import type { PlanBuilder } from "../gpu/plan_builder.ts";
import { type Dim, requireDims, type Tensor } from "../gpu/tensor.ts";
import { wgsl } from "../gpu/wgsl.gen.ts";
import { columnSums } from "./column_sum.ts";
import { matmul } from "./matmul/matmul.ts";
import type { Op } from "./op.ts";
import { rowWindows } from "./windows.ts";

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
  /** Bounds the binding of one window of the matrix, for tests. */
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
 * x (T,K) -> y (T,N). dx = dy W^T, dW += x^T dy, dbias += column sums of dy; nothing is transposed in memory. A matrix
 * larger than one storage binding is taken in windows of its rows.
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
    const windows = rowWindows(plan.device, w, o.windowBytes);
    for (const [i, { first, rows: count, view }] of windows.entries()) {
      if (o.layout === "out_in") {
        const columns = { first, total: N };
        matmul(plan, { a: x, b: view, c: y, form: "NT", M: rows, N: count, K, bias, residual, columns });
        continue;
      }
      const added = i === windows.length - 1 ? { bias, residual } : {};
      const part = { M: rows, N, K: count, aColumns: { first, total: K }, accumulate: i > 0 };
      matmul(plan, { a: x, b: view, c: y, form: "NN", ...part, ...added });
    }
    return { out: { y }, saved: { x, w, options: o } };
  },

  backward(plan, { x, w, options }, { y: dy }, into) {
    const { rows, K, N } = sizes(x, w, options);
    const outIn = options.layout === "out_in";
    if (into.bias !== undefined) biasGradient(plan, dy, rows, N, into.bias);
    if (into.w !== undefined) {
      for (const { first, rows: M, view } of rowWindows(plan.device, into.w, options.windowBytes)) {
        const [a, b, total, columns] = outIn ? ([dy, x, N, K] as const) : ([x, dy, K, N] as const);
        const part = { M, N: columns, K: rows, aColumns: { first, total }, accumulate: true };
        matmul(plan, { a, b, c: view, form: "TN", ...part });
      }
    }
    const dx = into.x ?? plan.temp(x.shape, "linear.dx");
    const accumulate = into.x !== undefined;
    for (const [i, { first, rows: count, view }] of rowWindows(plan.device, w, options.windowBytes).entries()) {
      const part = outIn
        ? ({ form: "NN", N: K, K: count, aColumns: { first, total: N }, accumulate: accumulate || i > 0 } as const)
        : ({ form: "NT", N: count, K: N, columns: { first, total: K }, accumulate } as const);
      matmul(plan, { a: dy, b: view, c: dx, M: rows, ...part });
    }
    return { x: dx, w: into.w, bias: into.bias };
  },
};

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
