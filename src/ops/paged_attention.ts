import { ShapeError } from "../core/errors.ts";
import { type Kernel, kernel } from "../gpu/kernel.ts";
import type { PlanBuilder } from "../gpu/plan_builder.ts";
import { dimValue, linearGroups } from "../gpu/plan_values.ts";
import { requireDims, type Tensor } from "../gpu/tensor.ts";
import { wgsl } from "../gpu/wgsl.gen.ts";
import { type KvFormat, type KvPages, kvFormatOf, requireKvFormat, requirePages } from "./kv_pages.ts";
import { attentionOfRows } from "./paged_attention/one_row.ts";
import { headsTogether, type PagedFamily, pagedFamily, pagedTileRows } from "./paged_attention/select.ts";
import { ownedVectors, vectorWidth } from "./paged_attention/subgroup.ts";
import { attentionOfTiles } from "./paged_attention/tile.ts";
import { headsPerRow, type QkvShape, requireQkv } from "./qkv_shape.ts";

/** Widest head: its query and accumulators must fit in registers and workgroup memory. */
const maxHeadDim = 256;
/** (row, head) pairs of one workgroup where each has one invocation. */
const itemsPerGroup = 8;

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
  /**
   * (N,2) u32, plan input: first row and number of rows of each run of at most `pagedTileRows` rows at consecutive
   * positions of one sequence, which then share one reading of the keys. Without it every row reads its own.
   */
  readonly tiles?: Tensor;
}

/** Shape of the heads, and the factor of q k^T. */
export interface PagedAttentionOptions extends QkvShape {
  scale: number;
}

/** What a kernel of paged attention is specialised for. */
interface Variant {
  readonly family: PagedFamily;
  readonly headDim: number;
  readonly format: KvFormat;
  /** Rows of a tile; 1 without tiles. */
  readonly rows: number;
  readonly lanes: number;
  /** Query heads that one workgroup takes. */
  readonly heads: number;
}

/**
 * Records causal attention of query rows over cached keys and values: o (T,H*D). Row t sees positions 0..pos[t] of its
 * sequence. Results are equal to the bit however rows are batched, chunked or tiled and wherever the pages lie.
 * @throws ShapeError when a shape does not fit, heads are no multiple of kvHeads, or headDim exceeds 256; ConfigError
 *   when pages of f16 hold heads whose width is no multiple of 4.
 */
export function pagedAttention(plan: PlanBuilder, inputs: PagedAttentionIn, o: PagedAttentionOptions): Tensor {
  requireInputs(plan, inputs, o);
  const { qkv, kv, pages, seq, pos, tiles } = inputs;
  const [rows = 0] = qkv.shape;
  const { caps } = plan.device;
  const family = pagedFamily(caps);
  const variant: Variant = {
    family,
    headDim: o.headDim,
    format: kvFormatOf(kv),
    rows: tiles === undefined ? 1 : pagedTileRows(caps, o),
    lanes: caps.subgroupWidth,
    heads: family === "subgroup" ? headsTogether(caps.subgroupWidth, o) : 1,
  };
  const out = plan.temp([rows, o.heads * o.headDim], "paged_attention.o");
  const vectors = family === "subgroup" ? vectorWidth(variant) : family === "alone" && o.headDim % 4 === 0 ? 4 : 1;
  const count = tiles?.shape[0] ?? rows;
  const perGroup = family === "alone" ? itemsPerGroup : variant.heads;
  plan.dispatch(kernelOf(variant), {
    tensors: { qkv, k_pages: kv.k, v_pages: kv.v, pages, seq, pos, o: out, ...(tiles === undefined ? {} : { tiles }) },
    scalars: {
      rows,
      tiles: count,
      heads: o.heads,
      kv_heads: o.kvHeads,
      row_stride: (headsPerRow(o) * o.headDim) / vectors,
      max_pages: pages.shape[1] as number,
      scale: o.scale,
      // A single row's vectors lie in all lanes, a tile's rows have all of theirs.
      parts: family === "subgroup" && variant.rows === 1 ? ownedVectors(variant) : o.headDim / vectors,
      queries: variant.heads,
      zero: 0,
      half_block: 32,
      head_parts: o.heads / o.kvHeads / variant.heads,
    },
    constants: family === "alone" ? { WG: itemsPerGroup } : {},
    workgroups: (v) => linearGroups(Math.ceil((dimValue(count, v) * o.heads) / perGroup)),
  });
  return out;
}

function requireInputs(plan: PlanBuilder, inputs: PagedAttentionIn, o: PagedAttentionOptions): void {
  const { qkv, kv, pages, seq, pos, tiles } = inputs;
  const [rows = 0] = qkv.shape;
  requireKvFormat(kvFormatOf(kv), o.headDim);
  requireQkv("paged_attention.qkv", o, qkv);
  requirePages("paged_attention", plan, o, kv);
  requireDims("paged_attention.pages", [pages.shape[0] ?? 0, pages.shape[1] ?? 0], pages, "Pass a block table.");
  requireDims("paged_attention.seq", [rows], seq, "Pass one sequence per row.");
  requireDims("paged_attention.pos", [rows], pos, "Pass one position per row.");
  if (tiles !== undefined) {
    requireDims("paged_attention.tiles", [tiles.shape[0] ?? 0, 2], tiles, "Pass first row and rows of each tile.");
  }
  if (o.heads % o.kvHeads !== 0 || o.headDim > maxHeadDim) {
    const expected = ["heads a multiple of kvHeads", `headDim<=${maxHeadDim}`];
    throw new ShapeError("paged_attention", expected, [`${o.heads}/${o.kvHeads}`, o.headDim], "Use another model.");
  }
}

const kernels = new Map<string, Kernel>();

function kernelOf(variant: Variant): Kernel {
  const key = JSON.stringify(variant);
  const made = kernels.get(key) ?? kernel("paged_attention", textOf(variant), "attend");
  kernels.set(key, made);
  return made;
}

function textOf(variant: Variant): string {
  const { family, headDim, format, rows } = variant;
  if (family === "subgroup") return rows > 1 ? attentionOfTiles(variant) : attentionOfRows(variant);
  const sized = (text: string): string => text.replace("const D = 64u;", `const D = ${headDim}u;`);
  if (family === "shared") {
    const tiled = rows === 1 ? wgsl.paged_attention_shared : withTiles(wgsl.paged_attention_shared);
    return sized(format === "f32" ? tiled : tiled.replace(wgsl.page_floats, wgsl.page_halves));
  }
  const head = format === "f16" ? wgsl.head_halves : headDim % 4 === 0 ? wgsl.head_vectors : wgsl.head_scalars;
  return sized(wgsl.paged_attention.replace(wgsl.head_vectors, head));
}

function withTiles(text: string): string {
  return text.replace(wgsl.tile_of_one, wgsl.tile_of_four);
}
