import type { DType } from "../core/dtype.ts";
import { type Kernel, kernel } from "../gpu/kernel.ts";
import type { PlanBuilder } from "../gpu/plan_builder.ts";
import type { ScalarArg } from "../gpu/plan_values.ts";
import { dimMax, requireDims, type Tensor } from "../gpu/tensor.ts";
import { wgsl } from "../gpu/wgsl.gen.ts";
import { elementCount, elementGrid, groupsOver } from "./grid.ts";
import type { Op } from "./op.ts";
import { packedReads } from "./packed_reads.ts";
import { type RowWindow, rowWindows } from "./windows.ts";

/** The kernels that read a table of one type. */
interface Readers {
  readonly forward: Kernel;
  readonly forwardAt: Kernel;
}

function readers(dtype: DType): Readers {
  const { declaration, functions } = packedReads("w", dtype, { vectors: false, binding: 2, scaleBinding: 11 });
  const text = wgsl.embedding.replace(/@group\(0\) @binding\(2\).*/, declaration).replace(/fn w_1\(.*/, functions);
  const scale = dtype === "i8" ? ["w_scale"] : [];
  return {
    forward: kernel("embedding", text, "forward", ["ids", "w", "y", ...scale]),
    forwardAt: kernel("embedding", text, "forward_at", ["ids", "w", "pos", "wpe", "y", ...scale]),
  };
}

const byType = { f32: readers("f32"), f16: readers("f16"), i8: readers("i8") };
const backward = kernel("embedding", wgsl.embedding, "backward", ["uniq", "off", "order", "dy", "dw"]);

/** Inputs of embedding. Ids and positions must lie in their tables: `requireIndices` checks them on the host. */
export interface EmbeddingIn {
  /** (T) u32 */
  readonly ids: Tensor;
  /** (V,C), f32 or packed as f16 or i8 */
  readonly w: Tensor;
  /** (T) u32 and (P,C): learned positions, both or neither */
  readonly pos?: Tensor;
  readonly wpe?: Tensor;
  /** u32 (U), (U+1), (T): `embeddingIndex(ids)`, for the gradient of w */
  readonly uniq?: Tensor;
  readonly off?: Tensor;
  readonly order?: Tensor;
  /** The same of pos, for the gradient of wpe */
  readonly posUniq?: Tensor;
  readonly posOff?: Tensor;
  readonly posOrder?: Tensor;
}

/** Options of embedding. `scale` multiplies the token's row, not the position's; `windowBytes` bounds one binding. */
export interface EmbeddingOptions {
  scale: number;
  windowBytes: number;
}

/** What embedding's backward needs. */
export interface EmbeddingSaved extends EmbeddingIn {
  readonly options: EmbeddingOptions;
}

const defaults: EmbeddingOptions = { scale: 1, windowBytes: Number.POSITIVE_INFINITY };

/**
 * Rows of a table: y (T,C) = scale * w[ids] (+ wpe[pos]). Tables larger than one storage binding are read in windows.
 * Backward needs the index of the ids: as inputs, or else it makes plan inputs "embedding.uniq", ".off", ".order" and
 * the size "embedding.U" (for positions "positions.…"), which `embeddingIndexInputs` fills at each replay.
 * @throws ShapeError when a shape does not fit, or only one of pos and wpe is given.
 */
export const embedding: Op<EmbeddingIn, { readonly y: Tensor }, EmbeddingSaved, EmbeddingOptions> = {
  name: "embedding",
  defaults,
  parameters: ["w", "wpe"],
  activations: [],

  forward(plan, inputs, options) {
    const o = { ...defaults, ...options };
    const { ids, w, pos, wpe } = inputs;
    const [rows = 0] = ids.shape;
    const [vocab = 0, cols = 0] = w.shape;
    requireDims("embedding.ids", [rows], ids, "Pass one id per row.");
    requireDims("embedding.w", [vocab, cols], w, "Pass a table of rows.");
    if (pos !== undefined || wpe !== undefined) {
      requireDims("embedding.pos", [rows], pos ?? { ...ids, shape: [] }, "Pass one position per row, with wpe.");
      requireDims("embedding.wpe", [wpe?.shape[0] ?? 0, cols], wpe ?? w, "Pass a table as wide as w, with pos.");
    }
    const y = plan.temp([rows, cols], "embedding.y");
    const grid = elementGrid(plan.device);
    for (const window of rowWindows(plan.device, w, o.windowBytes)) {
      const learned = pos === undefined || wpe === undefined ? undefined : { pos, wpe };
      const { forward, forwardAt } = byType[w.dtype as keyof typeof byType];
      const { scales } = window.view;
      plan.dispatch(learned === undefined ? forward : forwardAt, {
        tensors: { ids, w: window.view, y, ...learned, ...(scales && { w_scale: scales }) },
        scalars: scalars(y, window, o.scale),
        constants: grid.constants,
        workgroups: groupsOver(grid, y.shape),
      });
    }
    return { out: { y }, saved: { ...inputs, options: o } };
  },

  backward(plan, saved, { y: dy }, into) {
    const { options: o } = saved;
    if (into.w !== undefined) {
      const index = { uniq: saved.uniq, off: saved.off, order: saved.order };
      scatter(plan, dy, into.w, indexOrInputs(plan, "embedding", dy, index), o.scale, o.windowBytes);
    }
    if (into.wpe !== undefined && saved.wpe !== undefined) {
      const index = { uniq: saved.posUniq, off: saved.posOff, order: saved.posOrder };
      scatter(plan, dy, into.wpe, indexOrInputs(plan, "positions", dy, index), 1, o.windowBytes);
    }
    return { w: into.w, wpe: into.wpe };
  },
};

interface IndexTensors {
  readonly uniq: Tensor;
  readonly off: Tensor;
  readonly order: Tensor;
}

/** The given index, or plan inputs for it, named so that `embeddingIndexInputs` can fill them. */
function indexOrInputs(
  plan: PlanBuilder,
  prefix: string,
  dy: Tensor,
  given: { [name in keyof IndexTensors]: Tensor | undefined },
): IndexTensors {
  const { uniq, off, order } = given;
  if (uniq !== undefined && off !== undefined && order !== undefined) return { uniq, off, order };
  const [rows = 0] = dy.shape;
  const most = dimMax(rows);
  return {
    uniq: plan.input(`${prefix}.uniq`, [plan.dim(`${prefix}.U`, most)], "u32"),
    off: plan.input(`${prefix}.off`, [most + 1], "u32"),
    order: plan.input(`${prefix}.order`, [rows], "u32"),
  };
}

function scatter(
  plan: PlanBuilder,
  dy: Tensor,
  table: Tensor,
  index: IndexTensors,
  scale: number,
  windowBytes: number,
): void {
  const grid = elementGrid(plan.device);
  const shape = [index.uniq.shape[0] ?? 0, dy.shape[1] ?? 0];
  for (const window of rowWindows(plan.device, table, windowBytes)) {
    plan.dispatch(backward, {
      tensors: { ...index, dy, dw: window.view },
      scalars: scalars({ ...dy, shape }, window, scale),
      constants: grid.constants,
      workgroups: groupsOver(grid, shape),
    });
  }
}

function scalars(over: Tensor, window: RowWindow, scale: number): Record<string, ScalarArg> {
  return {
    count: elementCount(over.shape),
    width: over.shape[1] ?? 0,
    scale,
    first: window.first,
    rows: window.rows,
  };
}
