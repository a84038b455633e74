import { PlanBuilder } from "../gpu/plan_builder.ts";
import type { Tensor } from "../gpu/tensor.ts";
import { attentionBlocks } from "../ops/attention/blocks.ts";
import { linear } from "../ops/linear.ts";
import { recordDecoder, recordPackedInputs } from "./forward.ts";
import type { Decoder } from "./policy.ts";

/** Packed tokens on the host. */
export interface PackedTokens {
  readonly ids: Uint32Array;
  readonly pos: Uint32Array;
  readonly end: Uint32Array;
}

/** What a decoder computes for T packed tokens, row-major. */
export interface ForwardOutputs {
  /** (T,V), not divided by any temperature. */
  readonly logits: Float32Array;
  /** (T,C) after the final norm. */
  readonly hidden: Float32Array;
  /** (T,C) after the embedding and after each block. */
  readonly residuals: readonly Float32Array[];
}

/** Sequences packed one after another, positions from 0 in each. */
export function packSequences(sequences: readonly ArrayLike<number>[]): PackedTokens {
  const total = sequences.reduce((n, s) => n + s.length, 0);
  const packed = { ids: new Uint32Array(total), pos: new Uint32Array(total), end: new Uint32Array(total) };
  let start = 0;
  for (const sequence of sequences) {
    for (let t = 0; t < sequence.length; t++) {
      packed.ids[start + t] = sequence[t] as number;
      packed.pos[start + t] = t;
      packed.end[start + t] = start + sequence.length;
    }
    start += sequence.length;
  }
  return packed;
}

/**
 * Runs the training forward once and reads all of it back, logits included: for checks and for looking into a model,
 * not for long texts (T times V numbers).
 */
export async function forwardOutputs(model: Decoder, tokens: PackedTokens): Promise<ForwardOutputs> {
  const builder = new PlanBuilder(model.device, "forward_outputs");
  const T = tokens.ids.length;
  const inputs = recordPackedInputs(builder, T);
  let depth = 0;
  const observe = (layer: number, x: Tensor): void => {
    builder.output(`residual.${layer}`, x);
    depth = layer;
  };
  const { hidden } = recordDecoder(builder, model, inputs, { observe });
  const logits = linear.forward(builder, { x: hidden, w: model.weights.head }, { layout: "out_in" });
  builder.output("hidden", hidden);
  builder.output("logits", logits.out.y);
  const plan = await builder.build();
  try {
    const out = await plan.run({}, { ...tokens, blockEnd: attentionBlocks(tokens.end) });
    return {
      logits: out.logits as Float32Array,
      hidden: out.hidden as Float32Array,
      residuals: Array.from({ length: depth + 1 }, (_, i) => out[`residual.${i}`] as Float32Array),
    };
  } finally {
    plan.dispose();
  }
}
