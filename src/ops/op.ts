import type { PlanBuilder } from "../gpu/plan_builder.ts";
import type { Tensor } from "../gpu/tensor.ts";

/** An interface whose every property is a tensor, under the name the operation's formula uses. */
export type Tensors<T> = { readonly [K in keyof T]: Tensor | undefined };

/** What forward records: its results and what backward needs of this call. */
export interface Recorded<Out, Saved> {
  readonly out: Out;
  readonly saved: Saved;
}

/** Existing gradient tensors to accumulate into, by input name. */
export type Into<In> = { readonly [K in keyof In]?: Tensor };

/**
 * A differentiable operation. Forward and backward record dispatches into a plan; neither runs anything.
 *
 * Gradient contract, the same for every operation:
 * - a **parameter** input's gradient accumulates (`+=`) into `into[name]`; without an entry it is not computed
 *   (frozen weights cost nothing);
 * - an **activation** input's gradient accumulates in place when `into[name]` is given (residual streams), else it
 *   is written to a fresh temporary; either way it is returned under the input's name;
 * - inputs listed in neither (ids, positions) have no gradient.
 */
export interface Op<In extends Tensors<In>, Out extends Tensors<Out>, Saved, Options> {
  readonly name: string;
  readonly defaults: Options;
  readonly parameters: readonly (keyof In & string)[];
  readonly activations: readonly (keyof In & string)[];
  /** @throws ShapeError when an input does not fit. */
  forward(plan: PlanBuilder, inputs: In, options?: Partial<Options>): Recorded<Out, Saved>;
  /** `grads` holds d(loss)/d(out) by output name. */
  backward(plan: PlanBuilder, saved: Saved, grads: Out, into: Into<In>): Into<In>;
}
