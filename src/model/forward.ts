import type { PlanBuilder } from "../gpu/plan_builder.ts";
import { type Dim, dimMax, type Tensor } from "../gpu/tensor.ts";
import { attentionBlock } from "../ops/attention/blocks.ts";
import { type AttentionSaved, attention } from "../ops/attention.ts";
import { type EmbeddingSaved, embedding } from "../ops/embedding.ts";
import type { DecoderGradients, LayerWeights } from "./decoder_weights.ts";
import {
  type AttentionInputSaved,
  backwardAttentionInput,
  backwardMlp,
  type MlpSaved,
  recordAttentionInput,
  recordAttentionOutput,
  recordMlp,
} from "./layer.ts";
import { backwardNorm, type NormSaved, recordNorm } from "./norm.ts";
import type { Decoder } from "./policy.ts";
import { backwardProjection, type ProjectionSaved } from "./projection.ts";

/** Inputs of a packed batch of T tokens. */
export interface PackedInputs {
  /** (T) u32 token ids. */
  readonly ids: Tensor;
  /** (T) u32 position of each token in its own sequence. */
  readonly pos: Tensor;
  /** (T) u32: token j is visible to i iff j <= i < end[j]. */
  readonly end: Tensor;
  /** Largest end per key block. */
  readonly blockEnd: Tensor;
}

/** Makes the plan's inputs "ids", "pos", "end" and "blockEnd" for a batch of T tokens. */
export function recordPackedInputs(plan: PlanBuilder, T: Dim): PackedInputs {
  return {
    ids: plan.input("ids", [T], "u32"),
    pos: plan.input("pos", [T], "u32"),
    end: plan.input("end", [T], "u32"),
    blockEnd: plan.input("blockEnd", [Math.ceil(dimMax(T) / attentionBlock)], "u32"),
  };
}

/** What backward needs of one block. */
interface LayerSaved {
  readonly input: AttentionInputSaved;
  readonly attention: AttentionSaved;
  readonly output: ProjectionSaved;
  readonly mlp: MlpSaved;
}

/** What backward needs of the whole decoder. */
export interface DecoderSaved {
  readonly embedding: EmbeddingSaved;
  /** Per block; a function records the block once more, for its backward. */
  readonly layers: readonly (LayerSaved | (() => LayerSaved))[];
  readonly norm: NormSaved;
}

/** How the decoder is recorded. */
export interface DecoderOptions {
  /** Lowest blocks whose inner tensors backward computes again from the residual stream instead of keeping them. */
  readonly recomputedLayers?: number;
  /** Sees the residual stream after the embedding (0) and after each block (1..L). */
  readonly observe?: (layer: number, x: Tensor) => void;
}

/**
 * Records the decoder over a packed batch up to its final norm: hidden (T,C). Each block ends a quantum. What is computed
 * again is the same to the last bit.
 */
export function recordDecoder(
  plan: PlanBuilder,
  model: Decoder,
  inputs: PackedInputs,
  { recomputedLayers = 0, observe }: DecoderOptions = {},
): { hidden: Tensor; saved: DecoderSaved } {
  const { description: d, weights } = model;
  const embedded = embedding.forward(
    plan,
    { ids: inputs.ids, w: weights.embed, pos: weights.positions && inputs.pos, wpe: weights.positions },
    { scale: d.embeddingScale },
  );
  let x = embedded.out.y;
  observe?.(0, x);
  const layers: (LayerSaved | (() => LayerSaved))[] = [];
  for (const [i, layer] of weights.layers.entries()) {
    const input = x;
    const recorded = recordLayer(plan, model, layer, input, inputs);
    layers.push(i < recomputedLayers ? () => recordLayer(plan, model, layer, input, inputs).saved : recorded.saved);
    x = recorded.x;
    observe?.(i + 1, x);
    plan.cut();
  }
  const final = recordNorm(plan, d.norm, weights.norm, x);
  return { hidden: final.y, saved: { embedding: embedded.saved, layers, norm: final.saved } };
}

function recordLayer(
  plan: PlanBuilder,
  model: Decoder,
  weights: LayerWeights,
  x: Tensor,
  { pos, end, blockEnd }: PackedInputs,
): { x: Tensor; saved: LayerSaved } {
  const d = model.description;
  const input = recordAttentionInput(plan, model, weights, x, pos);
  const attended = attention.forward(
    plan,
    { qkv: input.qkv, end, blockEnd },
    { heads: d.heads, kvHeads: d.kvHeads, headDim: d.headDim, scale: d.attentionScale },
  );
  const output = recordAttentionOutput(plan, model, weights, attended.out.o, x);
  const mlp = recordMlp(plan, model, weights, output.x);
  return {
    x: mlp.x,
    saved: { input: input.saved, attention: attended.saved, output: output.saved, mlp: mlp.saved },
  };
}

/**
 * Records the gradients of the parameters that have a place in `grads` (accumulating) from that of the final hidden
 * states (T,C). Each block ends a quantum.
 */
export function backwardDecoder(
  plan: PlanBuilder,
  saved: DecoderSaved,
  dHidden: Tensor,
  grads: DecoderGradients,
): void {
  const dx = backwardNorm(plan, saved.norm, dHidden, grads.norm);
  for (let i = saved.layers.length - 1; i >= 0; i--) {
    const kept = saved.layers[i] as LayerSaved | (() => LayerSaved);
    const layer = typeof kept === "function" ? kept() : kept;
    if (typeof kept === "function") plan.cut();
    const layerGrads = grads.layers[i];
    backwardMlp(plan, layer.mlp, dx, layerGrads);
    const dO = backwardProjection(plan, layer.output, dx, layerGrads?.out);
    const dqkv = attention.backward(plan, layer.attention, { o: dO }, {}).qkv as Tensor;
    backwardAttentionInput(plan, layer.input, dqkv, dx, layerGrads);
    plan.cut();
  }
  if (grads.embed === undefined && grads.positions === undefined) return;
  embedding.backward(plan, saved.embedding, { y: dx }, { w: grads.embed, wpe: grads.positions });
}
