import type { PlanBuilder } from "../gpu/plan_builder.ts";
import type { Tensor } from "../gpu/tensor.ts";
import { type LinearSaved, linear } from "../ops/linear.ts";
import { type LoraSaved, lora } from "../ops/lora.ts";
import type { DecoderDescription } from "./decoder.ts";
import type { LinearGradients, LinearWeights } from "./decoder_weights.ts";

/** What a projection's backward needs. */
export interface ProjectionSaved {
  readonly linear: LinearSaved;
  readonly lora: LoraSaved | undefined;
}

/** Records y = x W + bias + residual, and what an adapter adds, in the model's weight layout: x (T,K) -> y (T,N). */
export function recordProjection(
  plan: PlanBuilder,
  d: Pick<DecoderDescription, "weightLayout">,
  weights: LinearWeights,
  x: Tensor,
  residual?: Tensor,
): { y: Tensor; saved: ProjectionSaved } {
  const { w, bias, lora: pair } = weights;
  const { out, saved } = linear.forward(plan, { x, w, bias, residual }, { layout: d.weightLayout });
  if (pair === undefined) return { y: out.y, saved: { linear: saved, lora: undefined } };
  const { scale, parts } = pair;
  const adapted = lora.forward(plan, { x, a: pair.a, b: pair.b, y: out.y }, { scale, parts });
  return { y: adapted.out.y, saved: { linear: saved, lora: adapted.saved } };
}

/** Records a projection's gradients, of the parts that have a place in `grads`; returns that of its input, (T,K). */
export function backwardProjection(
  plan: PlanBuilder,
  saved: ProjectionSaved,
  dy: Tensor,
  grads: LinearGradients | undefined,
): Tensor {
  const dx = linear.backward(plan, saved.linear, { y: dy }, { w: grads?.w, bias: grads?.bias }).x as Tensor;
  if (saved.lora === undefined) return dx;
  return lora.backward(plan, saved.lora, { y: dy }, { x: dx, a: grads?.lora?.a, b: grads?.lora?.b }).x as Tensor;
}
