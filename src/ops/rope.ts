import { ShapeError } from "../core/errors.ts";
import { kernel } from "../gpu/kernel.ts";
import type { PlanBuilder } from "../gpu/plan_builder.ts";
import { dimValue } from "../gpu/plan_values.ts";
import { dimText, requireDims, type Tensor } from "../gpu/tensor.ts";
import { wgsl } from "../gpu/wgsl.gen.ts";
import type { Op } from "./op.ts";
import { headsPerRow, type QkvShape, requireQkv } from "./qkv_shape.ts";

const rotate = kernel("rope", wgsl.rope, "rotate");

const workgroup = 64;

/** Inputs of RoPE. */
export interface RopeIn {
  /** (T,(H+2KV)*D), turned in place */
  readonly qkv: Tensor;
  /** (T) u32, the position of each row */
  readonly pos: Tensor;
  /** (rotaryDim/2), inverse frequencies with any scaling (llama3, linear) already in them */
  readonly invFreq: Tensor;
}

/** Options of RoPE. `attentionScaling` multiplies cosines and sines. */
export interface RopeOptions extends QkvShape {
  attentionScaling: number;
}

/** What RoPE's backward needs. */
export interface RopeSaved {
  readonly pos: Tensor;
  readonly invFreq: Tensor;
  readonly options: RopeOptions;
}

const defaults: RopeOptions = { heads: 1, kvHeads: 1, headDim: 64, attentionScaling: 1 };

/**
 * Rotary position embedding IN PLACE: y is qkv's own storage, and backward turns dy in place and returns it as dqkv
 * (so it takes no `into.qkv`). The first 2*len(invFreq) dimensions of every query and key head turn, as pairs
 * (i, i + len(invFreq)), by pos * invFreq[i]; values and the other dimensions stay.
 * @throws ShapeError when a shape does not fit, or backward is given `into.qkv`. Source: Su et al. 2021, arXiv:2104.09864.
 */
export const rope: Op<RopeIn, { readonly y: Tensor }, RopeSaved, RopeOptions> = {
  name: "rope",
  defaults,
  parameters: [],
  activations: ["qkv"],

  forward(plan, { qkv, pos, invFreq }, options) {
    const o = { ...defaults, ...options };
    requireQkv("rope.qkv", o, qkv);
    requireDims("rope.pos", [qkv.shape[0] ?? 0], pos, "Pass one position per row.");
    const [half = 0] = invFreq.shape;
    if (invFreq.shape.length !== 1 || typeof half !== "number" || half < 1 || 2 * half > o.headDim) {
      const most = Math.floor(o.headDim / 2);
      throw new ShapeError("rope.invFreq", [`1..${most}`], invFreq.shape.map(dimText), "Pass rotaryDim/2 frequencies.");
    }
    const saved = { pos, invFreq, options: o };
    turn(plan, saved, qkv, 1);
    return { out: { y: qkv }, saved };
  },

  backward(plan, saved, { y: dy }, into) {
    if (into.qkv !== undefined) {
      const got = into.qkv.shape.map(dimText);
      throw new ShapeError("rope.into.qkv", ["none"], got, "Rope turns dy in place; accumulate its result afterwards.");
    }
    turn(plan, saved, dy, -1);
    return { qkv: dy };
  },
};

function turn(plan: PlanBuilder, { pos, invFreq, options: o }: RopeSaved, qkv: Tensor, sign: 1 | -1): void {
  const [rows = 0] = qkv.shape;
  const half = invFreq.shape[0] as number;
  const rotatedHeads = o.heads + o.kvHeads;
  // A software adapter pays per invocation, a GPU has invocations to spare.
  const perInvocation = plan.device.caps.deviceClass === "software" ? rotatedHeads : 1;
  plan.dispatch(rotate, {
    tensors: { pos, inv_freq: invFreq, qkv },
    scalars: {
      rows,
      half,
      rotated_heads: rotatedHeads,
      stride: headsPerRow(o) * o.headDim,
      width: o.headDim,
      scaling: o.attentionScaling,
      sign,
    },
    constants: { WG: workgroup, HEADS: perInvocation },
    workgroups: (v) => {
      const along = Math.ceil((dimValue(rows, v) * half) / workgroup);
      return [Math.min(along, 65535), Math.ceil(rotatedHeads / perInvocation), Math.ceil(along / 65535)];
    },
  });
}
