import { ShapeError } from "../core/errors.ts";
import { kernel } from "../gpu/kernel.ts";
import type { PlanBuilder } from "../gpu/plan_builder.ts";
import { dimValue, linearGroups, type ScalarArg } from "../gpu/plan_values.ts";
import { requireDims, type Tensor } from "../gpu/tensor.ts";
import { wgsl } from "../gpu/wgsl.gen.ts";
import { matmul } from "./matmul/matmul.ts";
import type { Op } from "./op.ts";

const kernels = {
  expand: kernel("lora", wgsl.lora, "expand", ["u", "b", "y"]),
  reduce: kernel("lora", wgsl.lora, "reduce", ["b", "dy", "du"]),
  outer: kernel("lora", wgsl.lora, "outer", ["u", "dy", "db"]),
};
const workgroup = 64;
/** Rows, and ranks, that one invocation computes. */
const tile = 4;

/** Consecutive columns of a projection that have a low-rank pair of their own. */
export interface LoraPart {
  readonly column: number;
  readonly columns: number;
}

/** Inputs of LoRA: P parts of rank r over S columns together. */
export interface LoraIn {
  /** (T,K), what the projection read */
  readonly x: Tensor;
  /** (P*r,K): the parts' A one below the other */
  readonly a: Tensor;
  /** (S,r): the parts' B one below the other */
  readonly b: Tensor;
  /** (T,N), the projection's result, added to in place; its gradient is dy itself and is not returned. */
  readonly y: Tensor;
}

/** Options of LoRA. `scale` is alpha / r, or alpha / sqrt(r) with rank stabilisation. */
export interface LoraOptions {
  scale: number;
  /** One to three, in ascending order of their columns; empty means one over all columns. */
  parts: readonly LoraPart[];
}

/** What LoRA's backward needs. */
export interface LoraSaved {
  readonly x: Tensor;
  readonly a: Tensor;
  readonly b: Tensor;
  /** (T,P*r) = x A^T */
  readonly u: Tensor;
  readonly scalars: Readonly<Record<string, ScalarArg>>;
}

const defaults: LoraOptions = { scale: 1, parts: [] };

/**
 * Low-rank addition IN PLACE to a projection that was computed already: y[:, part] += scale * (x A^T) B^T for each part.
 * dx = scale * (dy B) A, dA += (scale * dy B)^T x, dB += scale * dy^T (x A^T).
 * @throws ShapeError when a shape does not fit, or there are more than three parts. Source: Hu et al. 2021,
 *   arXiv:2106.09685; scale with rank stabilisation: Kalajdzievski 2023, arXiv:2312.03732.
 */
export const lora: Op<LoraIn, { readonly y: Tensor }, LoraSaved, LoraOptions> = {
  name: "lora",
  defaults,
  parameters: ["a", "b"],
  activations: ["x"],

  forward(plan, { x, a, b, y }, options) {
    const o = { ...defaults, ...options };
    const { rows, inner, width, scalars } = checkShapes({ x, a, b, y }, o);
    const u = plan.temp([rows, inner], "lora.u");
    matmul(plan, { a: x, b: a, c: u, form: "NT", M: rows, N: inner, K: width });
    const total = b.shape[0] as number;
    plan.dispatch(kernels.expand, {
      tensors: { u, b, y },
      scalars,
      constants: { WG: workgroup },
      workgroups: (v) => [Math.ceil(total / workgroup), Math.ceil(dimValue(rows, v) / tile)],
    });
    return { out: { y }, saved: { x, a, b, u, scalars } };
  },

  backward(plan, { x, a, b, u, scalars }, { y: dy }, into) {
    const [rows = 0, inner = 0] = u.shape;
    const width = a.shape[1] as number;
    const du = plan.temp(u.shape, "lora.du");
    plan.dispatch(kernels.reduce, {
      tensors: { b, dy, du },
      scalars,
      constants: { WG: workgroup },
      workgroups: (v) => linearGroups(Math.ceil(((inner as number) * Math.ceil(dimValue(rows, v) / tile)) / workgroup)),
    });
    if (into.b !== undefined) outerProduct(plan, { u, dy, db: into.b }, scalars);
    if (into.a !== undefined) {
      const [M, N] = [inner as number, width];
      matmul(plan, { a: du, b: x, c: into.a, form: "TN", M, N, K: rows, accumulate: true });
    }
    const dx = into.x ?? plan.temp(x.shape, "lora.dx");
    const [N, K] = [width, inner as number];
    matmul(plan, { a: du, b: a, c: dx, form: "NN", M: rows, N, K, accumulate: into.x !== undefined });
    return { x: dx, a: into.a, b: into.b };
  },
};

function outerProduct(
  plan: PlanBuilder,
  tensors: { readonly u: Tensor; readonly dy: Tensor; readonly db: Tensor },
  scalars: LoraSaved["scalars"],
): void {
  const [total, rank] = tensors.db.shape as [number, number];
  plan.dispatch(kernels.outer, {
    tensors,
    scalars,
    constants: { WG: workgroup },
    workgroups: linearGroups(Math.ceil((total * Math.ceil(rank / tile)) / workgroup)),
  });
}

/** The sizes of a call and the shader's numbers. @throws ShapeError */
function checkShapes({ x, a, b, y }: LoraIn, { scale, parts: given }: LoraOptions) {
  const [rows = 0, width = 0] = x.shape;
  const [total = 0, rank = 0] = b.shape as readonly number[];
  const columns = (y.shape[1] ?? 0) as number;
  const parts = given.length === 0 ? [{ column: 0, columns }] : given;
  const advice = "Pass A (P*r,K) and B (S,r) of the parts, and the projection's own x and y.";
  requireDims("lora.x", [rows, width], x, advice);
  requireDims("lora.y", [rows, columns], y, advice);
  requireDims("lora.a", [parts.length * rank, width], a, advice);
  requireDims("lora.b", [parts.reduce((n, p) => n + p.columns, 0), rank], b, advice);
  const ends = parts.map((p) => p.column + p.columns);
  const ascending = parts.every((p, i) => p.column >= (ends[i - 1] ?? 0) && (ends[i] as number) <= columns);
  if (parts.length > 3 || !ascending) {
    const got = parts.map((p) => `${p.column}+${p.columns}`);
    throw new ShapeError("lora.parts", [`up to 3 ascending within ${columns}`], got, advice);
  }
  const first = parts.map((_, i) => parts.slice(0, i).reduce((n, p) => n + p.columns, 0));
  const shift = (i: number): number => (parts[i]?.column ?? 0) - (first[i] ?? 0);
  const scalars = {
    ...{ rows, width: columns, rank, inner: parts.length * rank, total, scale },
    ...{ first1: first[1] ?? total, first2: first[2] ?? total },
    ...{ shift0: shift(0), shift1: shift(1), shift2: shift(2) },
  };
  return { rows, width: width as number, inner: parts.length * rank, scalars };
}
