import { ConfigError } from "../core/errors.ts";
import { type Kernel, kernel } from "../gpu/kernel.ts";
import type { PlanBuilder } from "../gpu/plan_builder.ts";
import { dimValue, type PlanValues } from "../gpu/plan_values.ts";
import { type Dim, dimMax, requireDims, type Tensor } from "../gpu/tensor.ts";
import { attentionKeyValueGradient, attentionQueryGradient } from "./attention/backward.ts";
import { attentionBlock } from "./attention/blocks.ts";
import { attentionForward } from "./attention/forward.ts";
import { type AttentionVariant, tileRows } from "./attention/rows.ts";
import { type AttentionPass, attentionVariant } from "./attention/select.ts";
import type { Op } from "./op.ts";
import { type QkvShape, requireQkv } from "./qkv_shape.ts";

/** Inputs of attention. */
export interface AttentionIn {
  /** (T,(H+2KV)*D), rotated already */
  readonly qkv: Tensor;
  /** (T) u32: key j is visible to query i iff j <= i < end[j]. A plan input: loops depend on it. */
  readonly end: Tensor;
  /** (ceil(T/32)) u32: `attentionBlocks(end)`. A plan input. */
  readonly blockEnd: Tensor;
}

/** Options of attention; scale is 1 / sqrt(headDim) unless given. */
export interface AttentionOptions extends QkvShape {
  scale?: number;
}

/** What attention's backward needs. lse (T,H). */
export interface AttentionSaved extends AttentionIn {
  readonly o: Tensor;
  readonly lse: Tensor;
  readonly options: AttentionOptions;
}

const defaults: AttentionOptions = { heads: 1, kvHeads: 1, headDim: 64 };

const texts: Readonly<Record<AttentionPass, (variant: AttentionVariant) => string>> = {
  forward: attentionForward,
  dq: attentionQueryGradient,
  dkv: attentionKeyValueGradient,
};

/** Texts are generated once per pass and variant. */
const generated = new Map<string, Kernel>();

function kernelOf(pass: AttentionPass, variant: AttentionVariant): Kernel {
  const key = JSON.stringify([pass, variant]);
  const made = generated.get(key) ?? kernel(`attention_${pass}`, texts[pass](variant), "main");
  generated.set(key, made);
  return made;
}

function check({ qkv, end, blockEnd }: AttentionIn, o: AttentionOptions): void {
  const [rows = 0] = qkv.shape;
  requireQkv("attention.qkv", o, qkv);
  if (o.heads % o.kvHeads !== 0) {
    throw new ConfigError(`Attention cannot share ${o.kvHeads} key heads among ${o.heads} query heads.`, {
      do: "Use a number of heads that is a multiple of the number of key-value heads.",
    });
  }
  requireDims("attention.end", [rows], end, "Pass one number per token.");
  const blocks = Math.ceil(dimMax(rows) / attentionBlock);
  if (blockEnd.shape.length !== 1 || dimMax(blockEnd.shape[0] ?? 0) < blocks) {
    requireDims("attention.blockEnd", [blocks], blockEnd, "Pass attentionBlocks(end).");
  }
}

function dispatch(
  plan: PlanBuilder,
  pass: AttentionPass,
  tensors: Readonly<Record<string, Tensor>> & { qkv: Tensor },
  o: AttentionOptions,
  add = 0,
): void {
  const rows: Dim = tensors.qkv.shape[0] ?? 0;
  const variant = attentionVariant(plan.device.caps, pass, o.headDim);
  const columns = pass === "dkv" ? o.kvHeads : o.heads;
  plan.dispatch(kernelOf(pass, variant), {
    tensors,
    scalars: {
      rows,
      heads: o.heads,
      kv_heads: o.kvHeads,
      scale: o.scale ?? 1 / Math.sqrt(o.headDim),
      add,
      chunks: Math.ceil(o.headDim / 4),
      rows_per_thread: variant.rowsPerThread,
    },
    workgroups: (v: PlanValues) => [Math.ceil(dimValue(rows, v) / tileRows(variant)), columns],
  });
}

/**
 * Causal attention over packed sequences and trees: o_i = sum over visible j of softmax(scale q_i . k_j) v_j, key j
 * visible to query i iff j <= i < end[j]; query head h uses key head h / (H/KV).
 * qkv (T,(H+2KV)*D), end (T), blockEnd (ceil(T/32)) -> o (T,H*D); saves lse (T,H). A row's result depends on its visible
 * keys alone, bit for bit. Source: Dao et al. 2022, arXiv:2205.14135; grouped queries: Ainslie et al. 2023,
 * arXiv:2305.13245.
 * @throws ShapeError when a shape does not fit the options, ConfigError when heads cannot share the key heads.
 */
export const attention: Op<AttentionIn, { readonly o: Tensor }, AttentionSaved, AttentionOptions> = {
  name: "attention",
  defaults,
  parameters: [],
  activations: ["qkv"],

  forward(plan, { qkv, end, blockEnd }, options) {
    const shape = { ...defaults, ...options };
    check({ qkv, end, blockEnd }, shape);
    const [rows = 0] = qkv.shape;
    const o = plan.temp([rows, shape.heads * shape.headDim], "attention.o");
    const lse = plan.temp([rows, shape.heads], "attention.lse");
    dispatch(plan, "forward", { qkv, end, block_end: blockEnd, o, lse }, shape);
    return { out: { o }, saved: { qkv, end, blockEnd, o, lse, options: shape } };
  },

  backward(plan, { qkv, end, blockEnd, o, lse, options }, { o: dO }, into) {
    const dqkv = into.qkv ?? plan.temp(qkv.shape, "attention.dqkv");
    const delta = plan.temp(lse.shape, "attention.delta");
    const add = into.qkv === undefined ? 0 : 1;
    const common = { qkv, end, lse, d_o: dO, delta, dqkv };
    dispatch(plan, "dq", { ...common, block_end: blockEnd, o }, options, add);
    dispatch(plan, "dkv", common, options, add);
    return { qkv: dqkv };
  },
};
