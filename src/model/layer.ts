import type { PlanBuilder } from "../gpu/plan_builder.ts";
import type { Tensor } from "../gpu/tensor.ts";
import { type ActivationSaved, activation } from "../ops/activation.ts";
import { type HeadNormSaved, headNorm } from "../ops/head_norm.ts";
import { type RopeSaved, rope } from "../ops/rope.ts";
import type { DecoderDescription } from "./decoder.ts";
import type { LayerGradients, LayerWeights } from "./decoder_weights.ts";
import { backwardNorm, type NormSaved, recordNorm } from "./norm.ts";
import { backwardProjection, type ProjectionSaved, recordProjection } from "./projection.ts";

/** Parts of a block as training and inference share them; between the two attention parts stands the attention itself. */
export interface LayerContext {
  readonly description: DecoderDescription;
  /** Rotation per position of each pair, when positions are rotary. */
  readonly inverseFrequencies: Tensor | undefined;
}

/** What the backward of a block's input part needs. */
export interface AttentionInputSaved {
  readonly norm: NormSaved;
  readonly qkv: ProjectionSaved;
  readonly headNorm: HeadNormSaved | undefined;
  readonly rope: RopeSaved | undefined;
}

/** What the backward of a block's MLP needs. */
export interface MlpSaved {
  readonly norm: NormSaved;
  readonly up: ProjectionSaved;
  readonly activation: ActivationSaved;
  readonly down: ProjectionSaved;
}

/** Records norm, fused projection, head norms and rotation: x (T,C), pos (T) -> qkv (T,(H+2KV)*D). */
export function recordAttentionInput(
  plan: PlanBuilder,
  { description: d, inverseFrequencies }: LayerContext,
  weights: LayerWeights,
  x: Tensor,
  pos: Tensor,
): { qkv: Tensor; saved: AttentionInputSaved } {
  const shape = { heads: d.heads, kvHeads: d.kvHeads, headDim: d.headDim };
  const norm = recordNorm(plan, d.norm, weights.norm1, x);
  const projected = recordProjection(plan, d, weights.qkv, norm.y);
  const normed =
    weights.headNorm === undefined
      ? undefined
      : headNorm.forward(
          plan,
          { qkv: projected.y, wq: weights.headNorm.q, wk: weights.headNorm.k },
          { ...shape, eps: d.norm.eps, shift: d.norm.kind === "rms" ? d.norm.shift : 0 },
        );
  const qkv = normed?.out.y ?? projected.y;
  const rotated =
    inverseFrequencies === undefined ? undefined : rope.forward(plan, { qkv, pos, invFreq: inverseFrequencies }, shape);
  return {
    qkv: rotated?.out.y ?? qkv,
    saved: { norm: norm.saved, qkv: projected.saved, headNorm: normed?.saved, rope: rotated?.saved },
  };
}

/** Records the gradient of `recordAttentionInput`: dqkv is consumed, dx (T,C) accumulates in place. */
export function backwardAttentionInput(
  plan: PlanBuilder,
  saved: AttentionInputSaved,
  dqkv: Tensor,
  dx: Tensor,
  grads: LayerGradients | undefined,
): void {
  const unrotated = saved.rope === undefined ? dqkv : (rope.backward(plan, saved.rope, { y: dqkv }, {}).qkv as Tensor);
  const projected =
    saved.headNorm === undefined
      ? unrotated
      : (headNorm.backward(plan, saved.headNorm, { y: unrotated }, { wq: grads?.headNorm?.q, wk: grads?.headNorm?.k })
          .qkv as Tensor);
  const dNorm = backwardProjection(plan, saved.qkv, projected, grads?.qkv);
  backwardNorm(plan, saved.norm, dNorm, grads?.norm1, dx);
}

/** Records the output projection onto the residual stream: o (T,H*D), x (T,C) -> x + o W (T,C). */
export function recordAttentionOutput(
  plan: PlanBuilder,
  { description }: LayerContext,
  weights: LayerWeights,
  o: Tensor,
  x: Tensor,
): { x: Tensor; saved: ProjectionSaved } {
  const { y, saved } = recordProjection(plan, description, weights.out, o, x);
  return { x: y, saved };
}

/** Records norm, MLP and residual: x (T,C) -> x + mlp(norm(x)) (T,C). */
export function recordMlp(
  plan: PlanBuilder,
  { description: d }: LayerContext,
  weights: LayerWeights,
  x: Tensor,
): { x: Tensor; saved: MlpSaved } {
  const norm = recordNorm(plan, d.norm, weights.norm2, x);
  const up = recordProjection(plan, d, weights.up, norm.y);
  const act = activation.forward(plan, { x: up.y }, d.activation);
  const down = recordProjection(plan, d, weights.down, act.out.y, x);
  return { x: down.y, saved: { norm: norm.saved, up: up.saved, activation: act.saved, down: down.saved } };
}

/** Records the gradient of `recordMlp`: dx (T,C) is the gradient of its result and becomes that of its input. */
export function backwardMlp(plan: PlanBuilder, saved: MlpSaved, dx: Tensor, grads: LayerGradients | undefined): void {
  const dAct = backwardProjection(plan, saved.down, dx, grads?.down);
  const dUp = activation.backward(plan, saved.activation, { y: dAct }, {}).x as Tensor;
  const dNorm = backwardProjection(plan, saved.up, dUp, grads?.up);
  backwardNorm(plan, saved.norm, dNorm, grads?.norm2, dx);
}
