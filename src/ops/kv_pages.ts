import { ConfigError, ShapeError } from "../core/errors.ts";
import { kernel } from "../gpu/kernel.ts";
import type { PlanBuilder } from "../gpu/plan_builder.ts";
import { dimText, maxBytes, requireDims, type Tensor } from "../gpu/tensor.ts";
import { wgsl } from "../gpu/wgsl.gen.ts";
import { elementCount, elementGrid, groupsOver } from "./grid.ts";
import { headsPerRow, type QkvShape, requireQkv } from "./qkv_shape.ts";

const writeKernels = {
  f32: kernel("kv_write", wgsl.kv_write, "kv_write"),
  f16: kernel("kv_write_halves", wgsl.kv_write_halves, "kv_write"),
};

/** How pages hold numbers: f32, or f16 two to a u32 (no shader-f16 needed). */
export type KvFormat = "f32" | "f16";

/** Bytes of one number in a page. */
export const kvFormatBytes: Readonly<Record<KvFormat, number>> = { f32: 4, f16: 2 };

/** @throws ConfigError for f16 with heads of a width that is no multiple of 4 */
export function requireKvFormat(format: KvFormat, headDim: number): void {
  if (format === "f32" || headDim % 4 === 0) return;
  throw new ConfigError(`Heads of ${headDim} numbers cannot be cached as f16: their width is no multiple of 4.`, {
    do: "Set model.kvFormat to f32.",
  });
}

/** Tokens of one page of the key-value cache. */
export const pageTokens = 16;

/** One layer's cache. */
export interface KvPages {
  /** (pages,16,KV*D) f32 each, or (pages,16,KV*D/2) u32 that hold pairs of f16 */
  readonly k: Tensor;
  readonly v: Tensor;
}

/** How these pages hold numbers. */
export function kvFormatOf({ k }: KvPages): KvFormat {
  return k.dtype === "f32" ? "f32" : "f16";
}

/** @throws ShapeError when the pages do not have the shape of their format, or are too large for one storage binding. */
export function requirePages(place: string, plan: PlanBuilder, s: QkvShape, pages: KvPages): void {
  const { k, v } = pages;
  const words = (s.kvHeads * s.headDim * kvFormatBytes[kvFormatOf(pages)]) / 4;
  const most = plan.device.caps.limits.maxBindingBytes;
  for (const [name, tensor] of [
    ["k", k],
    ["v", v],
  ] as const) {
    const count = tensor.shape[0] ?? 0;
    const advice = "Pass pages of 16 tokens with the keys or values of all kv heads.";
    requireDims(`${place}.${name}`, [count, pageTokens, words], tensor, advice);
    if (maxBytes(tensor) > most) {
      const fitting = Math.floor(most / (4 * pageTokens * words));
      const got = tensor.shape.map(dimText);
      throw new ShapeError(`${place}.${name}`, [`<=${fitting}`, ...got.slice(1)], got, "Lower model.kvTokens.");
    }
  }
}

/**
 * Records the write of keys and values into their slots: qkv (T,(H+2KV)*D), slots (T) u32, each page * 16 + offset or
 * `none` for a row without one. Slots of one dispatch are distinct.
 * @throws ShapeError when a shape does not fit.
 */
export function kvWrite(plan: PlanBuilder, s: QkvShape, qkv: Tensor, slots: Tensor, pages: KvPages): void {
  const [rows = 0] = qkv.shape;
  requireQkv("kv_write.qkv", s, qkv);
  requireDims("kv_write.slots", [rows], slots, "Pass one slot per row.");
  requirePages("kv_write", plan, s, pages);
  const format = kvFormatOf(pages);
  const width = (s.kvHeads * s.headDim * kvFormatBytes[format]) / 4;
  const grid = elementGrid(plan.device);
  plan.dispatch(writeKernels[format], {
    tensors: { qkv, slots, k_pages: pages.k, v_pages: pages.v },
    scalars: {
      count: elementCount([rows, width]),
      width,
      row_stride: headsPerRow(s) * s.headDim,
      first_key: s.heads * s.headDim,
    },
    constants: grid.constants,
    workgroups: groupsOver(grid, [rows, width]),
  });
}
