import type { PlanBuilder } from "../gpu/plan_builder.ts";
import type { Tensor } from "../gpu/tensor.ts";
import { type LayernormSaved, layernorm } from "../ops/layernorm.ts";
import { type RmsnormSaved, rmsnorm } from "../ops/rmsnorm.ts";
import type { NormDescription } from "./decoder.ts";
import type { NormWeights } from "./decoder_weights.ts";

/** What a norm's backward needs. */
export type NormSaved =
  | { readonly kind: "rms"; readonly saved: RmsnormSaved }
  | { readonly kind: "layer"; readonly saved: LayernormSaved };

/** Records the model's norm of each row: x (T,C) -> y (T,C). */
export function recordNorm(
  plan: PlanBuilder,
  norm: NormDescription,
  weights: NormWeights,
  x: Tensor,
): { y: Tensor; saved: NormSaved } {
  if (norm.kind === "rms") {
    const { out, saved } = rmsnorm.forward(plan, { x, w: weights.w }, { eps: norm.eps, shift: norm.shift });
    return { y: out.y, saved: { kind: "rms", saved } };
  }
  const { out, saved } = layernorm.forward(plan, { x, w: weights.w, b: weights.bias }, { eps: norm.eps });
  return { y: out.y, saved: { kind: "layer", saved } };
}

/** Records the norm's gradient: adds into `dx` when given (the residual stream's), else returns a fresh tensor. */
export function backwardNorm(
  plan: PlanBuilder,
  norm: NormSaved,
  dy: Tensor,
  grads: Partial<NormWeights> | undefined,
  dx?: Tensor,
): Tensor {
  const into =
    norm.kind === "rms"
      ? rmsnorm.backward(plan, norm.saved, { y: dy }, { x: dx, w: grads?.w })
      : layernorm.backward(plan, norm.saved, { y: dy }, { x: dx, w: grads?.w, b: grads?.bias });
  return into.x as Tensor;
}
