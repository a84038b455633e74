import { ShapeError } from "../core/errors.ts";
import { kernel } from "../gpu/kernel.ts";
import type { PlanBuilder } from "../gpu/plan_builder.ts";
import { dimText, maxBytes, requireDims, type Tensor } from "../gpu/tensor.ts";
import { wgsl } from "../gpu/wgsl.gen.ts";
import { elementCount, elementGrid, groupsOver } from "./grid.ts";
import { headsPerRow, type QkvShape, requireQkv } from "./qkv_shape.ts";

const writeKernel = kernel("kv_write", wgsl.kv_write, "kv_write");

/** Tokens of one page of the key-value cache. */
export const pageTokens = 16;

/** One layer's cache. */
export interface KvPages {
  /** (pages,16,KV*D) each */
  readonly k: Tensor;
  readonly v: Tensor;
}

/** @throws ShapeError when the pages are not (pages,16,KV*D), or too large for one storage binding. */
export function requirePages(place: string, plan: PlanBuilder, s: QkvShape, { k, v }: KvPages): void {
  const most = plan.device.caps.limits.maxBindingBytes;
  for (const [name, tensor] of [
    ["k", k],
    ["v", v],
  ] as const) {
    const pages = tensor.shape[0] ?? 0;
    const advice = "Pass pages of 16 tokens with the keys or values of all kv heads.";
    requireDims(`${place}.${name}`, [pages, pageTokens, s.kvHeads * s.headDim], tensor, advice);
    if (maxBytes(tensor) > most) {
      const fitting = Math.floor(most / (4 * pageTokens * s.kvHeads * s.headDim));
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
  const width = s.kvHeads * s.headDim;
  const grid = elementGrid(plan.device);
  plan.dispatch(writeKernel, {
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
