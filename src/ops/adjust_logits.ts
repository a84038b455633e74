import { kernel } from "../gpu/kernel.ts";
import type { PlanBuilder } from "../gpu/plan_builder.ts";
import { dimValue, linearGroups } from "../gpu/plan_values.ts";
import { requireDims, type Tensor } from "../gpu/tensor.ts";
import { wgsl } from "../gpu/wgsl.gen.ts";

const editKernel = kernel("adjust_logits", wgsl.adjust_logits, "edit", ["edits", "logits"]);
const maskKernel = kernel("adjust_logits", wgsl.adjust_logits, "mask", ["masked_rows", "masks", "logits"]);

const workgroup = 64;
const minusInfinityBits = 0xff800000;

/** One logit to change: l becomes (l > 0 ? l / repetition : l * repetition) + addend. */
export interface LogitEdit {
  readonly row: number;
  readonly id: number;
  readonly repetition: number;
  readonly addend: number;
}

/** Edits as the kernel reads them, (E,4) u32. */
export function encodeLogitEdits(edits: readonly LogitEdit[]): Uint32Array {
  const out = new Uint32Array(4 * edits.length);
  const floats = new Float32Array(out.buffer);
  for (const [i, e] of edits.entries()) {
    out[4 * i] = e.row;
    out[4 * i + 1] = e.id;
    floats[4 * i + 2] = e.repetition;
    floats[4 * i + 3] = e.addend;
  }
  return out;
}

/** u32 words of a bit per token id. */
export function maskWords(vocab: number): number {
  return Math.ceil(vocab / 32);
}

/** Inputs of `adjustLogits`. */
export interface AdjustLogitsIn {
  /** (B,V), changed in place */
  readonly logits: Tensor;
  /** (E,4) u32, plan input: `encodeLogitEdits`, each (row, id) at most once */
  readonly edits: Tensor;
  /** (M) u32, plan input: rows of logits that have a mask, each at most once */
  readonly maskedRows: Tensor;
  /** (M,ceil(V/32)) u32, plan input: a bit per id, 0 for what may not be drawn */
  readonly masks: Tensor;
}

/**
 * Records changes of logits before sampling: the edits, then the masks, which make a logit -inf. Neither runs when a
 * replay has none of it. @throws ShapeError when a shape does not fit.
 */
export function adjustLogits(plan: PlanBuilder, { logits, edits, maskedRows, masks }: AdjustLogitsIn): void {
  const [rows = 0, vocab = 0] = logits.shape;
  const [editCount = 0] = edits.shape;
  const [maskCount = 0] = maskedRows.shape;
  const words = maskWords(vocab as number);
  requireDims("adjust_logits.logits", [rows, vocab as number], logits, "Pass a row of logits per sequence.");
  requireDims("adjust_logits.edits", [editCount, 4], edits, "Pass encodeLogitEdits.");
  requireDims("adjust_logits.masks", [maskCount, words], masks, "Pass a bit per token id and masked row.");
  plan.dispatch(editKernel, {
    tensors: { edits, logits },
    scalars: { count: editCount, vocab: vocab as number, words, minus_infinity: minusInfinityBits },
    constants: { WG: workgroup },
    workgroups: (v) => linearGroups(Math.ceil(dimValue(editCount, v) / workgroup)),
  });
  plan.dispatch(maskKernel, {
    tensors: { masked_rows: maskedRows, masks, logits },
    scalars: { count: maskCount, vocab: vocab as number, words, minus_infinity: minusInfinityBits },
    constants: { WG: workgroup },
    workgroups: (v) => linearGroups(Math.ceil((dimValue(maskCount, v) * words) / workgroup)),
  });
}
