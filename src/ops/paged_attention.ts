import { ShapeError } from "../core/errors.ts";
import { type Kernel, kernel } from "../gpu/kernel.ts";
import type { PlanBuilder } from "../gpu/plan_builder.ts";
import { dimValue, linearGroups } from "../gpu/plan_values.ts";
import { requireDims, type Tensor } from "../gpu/tensor.ts";
import { wgsl } from "../gpu/wgsl.gen.ts";
import { type KvPages, requirePages } from "./kv_pages.ts";
import { headsPerRow, type QkvShape, requireQkv } from "./qkv_shape.ts";

/** Widest head: its query and accumulators must fit in registers and workgroup memory. */
const maxHeadDim = 256;

/** Inputs of paged attention. T query rows of S sequences. */
export interface PagedAttentionIn {
  /** (T,(H+2KV)*D), queries rotated; only the query heads are read */
  readonly qkv: Tensor;
  readonly kv: KvPages;
  /** (S,P) u32, plan input: page of each 16 positions of each sequence */
  readonly pages: Tensor;
  /** (T) u32, plan input: the sequence of each row */
  readonly seq: Tensor;
  /** (T) u32, not a temporary: the position of each row, whose own key and value are already in the pages */
  readonly pos: Tensor;
}

/** Shape of the heads, and the factor of q k^T. */
export interface PagedAttentionOptions extends QkvShape {
  scale: number;
}

/**
 * Records causal attention of query rows over cached keys and values: o (T,H*D). Row t sees positions 0..pos[t] of its
 * sequence. Results are equal to the bit however rows are batched or chunked and wherever the pages lie.
 * @throws ShapeError when a shape does not fit, heads are no multiple of kvHeads, or headDim exceeds 256.
 */
export function pagedAttention(plan: PlanBuilder, inputs: PagedAttentionIn, o: PagedAttentionOptions): Tensor {
  const { qkv, kv, pages, seq, pos } = inputs;
  const [rows = 0] = qkv.shape;
  requireQkv("paged_attention.qkv", o, qkv);
  requirePages("paged_attention", plan, o, kv);
  requireDims("paged_attention.pages", [pages.shape[0] ?? 0, pages.shape[1] ?? 0], pages, "Pass a block table.");
  requireDims("paged_attention.seq", [rows], seq, "Pass one sequence per row.");
  requireDims("paged_attention.pos", [rows], pos, "Pass one position per row.");
  if (o.heads % o.kvHeads !== 0 || o.headDim > maxHeadDim) {
    const expected = ["heads a multiple of kvHeads", `headDim<=${maxHeadDim}`];
    throw new ShapeError("paged_attention", expected, [`${o.heads}/${o.kvHeads}`, o.headDim], "Use another model.");
  }
  const out = plan.temp([rows, o.heads * o.headDim], "paged_attention.o");
  const alone = plan.device.caps.deviceClass === "software";
  // Widths that are multiples of 4 are read as vec4 by the kernel with one invocation per (row, head).
  const part = alone && o.headDim % 4 === 0 ? 4 : 1;
  const perGroup = alone ? itemsPerGroup : 1;
  plan.dispatch(kernelOf(alone, part, o.headDim), {
    tensors: { qkv, k_pages: kv.k, v_pages: kv.v, pages, seq, pos, o: out },
    scalars: {
      rows,
      heads: o.heads,
      kv_heads: o.kvHeads,
      row_stride: (headsPerRow(o) * o.headDim) / part,
      max_pages: pages.shape[1] as number,
      scale: o.scale,
      parts: o.headDim / part,
      half_block: 32,
    },
    constants: alone ? { WG: itemsPerGroup } : {},
    workgroups: (v) => linearGroups(Math.ceil((dimValue(rows, v) * o.heads) / perGroup)),
  });
  return out;
}

/** (row, head) pairs of one workgroup where each has one invocation. */
const itemsPerGroup = 8;

const kernels = new Map<string, Kernel>();

/** The kernel for heads of one width. */
function kernelOf(alone: boolean, part: 1 | 4, headDim: number): Kernel {
  const key = `${alone} ${headDim}`;
  const found = kernels.get(key);
  if (found !== undefined) return found;
  const text = alone ? wgsl.paged_attention : wgsl.paged_attention_shared;
  const parts = part === 1 ? text.replace(wgsl.head_vectors, wgsl.head_scalars) : text;
  const made = kernel("paged_attention", parts.replace("const D = 64u;", `const D = ${headDim}u;`), "attend");
  kernels.set(key, made);
  return made;
}
