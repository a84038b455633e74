import { kernel } from "../gpu/kernel.ts";
import type { PlanBuilder } from "../gpu/plan_builder.ts";
import { dimValue, type PlanValues, type ScalarArg } from "../gpu/plan_values.ts";
import { requireDims, type Tensor } from "../gpu/tensor.ts";
import { wgsl } from "../gpu/wgsl.gen.ts";
import { columnSums } from "./column_sum.ts";
import { rowGrid } from "./grid.ts";
import type { Op } from "./op.ts";
import { headsPerRow, type QkvShape, requireQkv } from "./qkv_shape.ts";

const forward = kernel("head_norm", wgsl.head_norm, "forward", ["qkv", "wq", "wk", "y", "rstd"]);
const backward = kernel("head_norm", wgsl.head_norm, "backward", ["qkv", "wq", "wk", "rstd", "dy", "dqkv"]);
const gainPart = kernel("head_norm", wgsl.head_norm, "gain_part", ["qkv", "rstd", "dy", "part"]);

/** Inputs of head_norm. */
export interface HeadNormIn {
  /** (T,(H+2KV)*D) */
  readonly qkv: Tensor;
  /** (D), shared by all query heads */
  readonly wq: Tensor;
  /** (D), shared by all key heads */
  readonly wk: Tensor;
}

/** Options of head_norm. `shift` is added to the weights: 1 for zero-centred ones (Gemma). */
export interface HeadNormOptions extends QkvShape {
  eps: number;
  shift: number;
}

/** What head_norm's backward needs. rstd (T,H+2KV). */
export interface HeadNormSaved extends HeadNormIn {
  readonly rstd: Tensor;
  readonly options: HeadNormOptions;
}

const defaults: HeadNormOptions = { heads: 1, kvHeads: 1, headDim: 64, eps: 1e-6, shift: 0 };

/**
 * RMSNorm of each query and key head, values copied: qkv (T,(H+2KV)*D), wq (D), wk (D) -> y of qkv's shape.
 * @throws ShapeError when a shape does not fit the options. Source: Henry et al. 2020, arXiv:2010.04245 (as in Qwen3).
 */
export const headNorm: Op<HeadNormIn, { readonly y: Tensor }, HeadNormSaved, HeadNormOptions> = {
  name: "head_norm",
  defaults,
  parameters: ["wq", "wk"],
  activations: ["qkv"],

  forward(plan, { qkv, wq, wk }, options) {
    const o = { ...defaults, ...options };
    requireQkv("head_norm.qkv", o, qkv);
    requireDims("head_norm.wq", [o.headDim], wq, "Pass weights as long as a head.");
    requireDims("head_norm.wk", [o.headDim], wk, "Pass weights as long as a head.");
    const y = plan.temp(qkv.shape, "head_norm.y");
    const rstd = plan.temp([qkv.shape[0] ?? 0, headsPerRow(o)], "head_norm.rstd");
    dispatchHeads(plan, forward, { qkv, wq, wk, y, rstd }, o);
    return { out: { y }, saved: { qkv, wq, wk, rstd, options: o } };
  },

  backward(plan, saved, { y: dy }, into) {
    const { qkv, wq, wk, rstd, options: o } = saved;
    const dqkv = into.qkv ?? plan.temp(qkv.shape, "head_norm.dqkv");
    if (into.wq !== undefined) gainGradient(plan, saved, dy, into.wq, 0, o.heads);
    if (into.wk !== undefined) gainGradient(plan, saved, dy, into.wk, o.heads, o.kvHeads);
    dispatchHeads(plan, backward, { qkv, wq, wk, rstd, dy, dqkv }, o, into.qkv === undefined ? 0 : 1);
    return { qkv: dqkv, wq: into.wq, wk: into.wk };
  },
};

function scalars(qkv: Tensor, o: HeadNormOptions): Record<string, ScalarArg> {
  const [tokens = 0] = qkv.shape;
  return {
    items: itemCount(qkv, o),
    heads: o.heads,
    kv_heads: o.kvHeads,
    width: o.headDim,
    eps: o.eps,
    shift: o.shift,
    add: 0,
    tokens,
    first_head: 0,
    head_count: 0,
  };
}

function itemCount(qkv: Tensor, o: QkvShape): (values: PlanValues) => number {
  return (v) => dimValue(qkv.shape[0] ?? 0, v) * headsPerRow(o);
}

function dispatchHeads(
  plan: PlanBuilder,
  k: typeof forward,
  tensors: Record<string, Tensor> & { qkv: Tensor },
  o: HeadNormOptions,
  add = 0,
): void {
  const grid = rowGrid(plan.device);
  const items = itemCount(tensors.qkv, o);
  plan.dispatch(k, {
    tensors,
    scalars: { ...scalars(tensors.qkv, o), add },
    constants: grid.constants,
    workgroups: (v) => grid.groups(items(v)),
  });
}

function gainGradient(
  plan: PlanBuilder,
  { qkv, rstd, options: o }: HeadNormSaved,
  dy: Tensor,
  dw: Tensor,
  firstHead: number,
  headCount: number,
): void {
  const [tokens = 0] = qkv.shape;
  const { part, constants, workgroups, addUp } = columnSums(plan, tokens, o.headDim, dw, "head_norm.part");
  plan.dispatch(gainPart, {
    tensors: { qkv, rstd, dy, part },
    scalars: { ...scalars(qkv, o), first_head: firstHead, head_count: headCount },
    constants,
    workgroups,
  });
  addUp();
}
