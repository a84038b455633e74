import { ShapeError } from "../core/errors.ts";
import { type Kernel, kernel } from "../gpu/kernel.ts";
import type { PlanBuilder } from "../gpu/plan_builder.ts";
import { type Dim, dimText, type Tensor } from "../gpu/tensor.ts";
import { wgsl } from "../gpu/wgsl.gen.ts";
import { byFours, elementCount, elementGrid, groupsOver } from "./grid.ts";
import type { Op } from "./op.ts";

const entry = (name: string, uses: readonly string[]): Kernel => kernel("activation", wgsl.activation, name, uses);
const forward = { plain: entry("forward", ["x", "y"]), gated: entry("forward_gated", ["x", "y"]) };
const backward = { plain: entry("backward", ["x", "dy", "dx"]), gated: entry("backward_gated", ["x", "dy", "dx"]) };
const forwardByFours = {
  plain: entry("forward_4", ["x_4", "y_4"]),
  gated: entry("forward_gated_4", ["x_4", "y_4"]),
};
const backwardByFours = {
  plain: entry("backward_4", ["x_4", "dy_4", "dx_4"]),
  gated: entry("backward_gated_4", ["x_4", "dy_4", "dx_4"]),
};

/** Fours that an invocation handles. */
const elementsByFours = 32;

const kinds = ["silu", "gelu", "gelu_tanh"] as const;

/** Activation functions: silu, gelu (exact, by erf), gelu_tanh (its approximation). */
export type ActivationKind = (typeof kinds)[number];

/** Options of activation. `gated`: x is [gate | up] and y = f(gate) * up. */
export interface ActivationOptions {
  kind: ActivationKind;
  gated: boolean;
}

/** Inputs of activation. */
export interface ActivationIn {
  /** (T,F), or (T,2F) when gated */
  readonly x: Tensor;
}

/** What activation's backward needs. */
export interface ActivationSaved {
  readonly x: Tensor;
  readonly shape: readonly [Dim, number];
  readonly options: ActivationOptions;
}

const defaults: ActivationOptions = { kind: "silu", gated: false };

/**
 * The MLP's elementwise function: x (T,F) -> y (T,F) = f(x), or gated x (T,2F) = [gate | up] -> y (T,F) = f(gate) * up.
 * @throws ShapeError when x is no matrix, or gated and of odd width. Sources: Elfwing et al. 2017 (arXiv:1702.03118),
 * Hendrycks & Gimpel 2016 (arXiv:1606.08415), Shazeer 2020 (arXiv:2002.05202).
 */
export const activation: Op<ActivationIn, { readonly y: Tensor }, ActivationSaved, ActivationOptions> = {
  name: "activation",
  defaults,
  parameters: [],
  activations: ["x"],

  forward(plan, { x }, options) {
    const o = { ...defaults, ...options };
    const [rows = 0, cols = 0] = x.shape;
    const width = o.gated ? Number(cols) / 2 : Number(cols);
    if (x.shape.length !== 2 || !Number.isInteger(width)) {
      const expected = ["rows", o.gated ? "2F" : "F"];
      throw new ShapeError("activation.x", expected, x.shape.map(dimText), "Pass rows of F, or of [gate | up].");
    }
    const y = plan.temp([rows, width], "activation.y");
    if (byFours(plan.device, width)) {
      dispatchElements(plan, forwardByFours, { x_4: x, y_4: y }, [rows, width], o, { four: true, add: 0 });
    } else dispatchElements(plan, forward, { x, y }, [rows, width], o, { four: false, add: 0 });
    return { out: { y }, saved: { x, shape: [rows, width], options: o } };
  },

  backward(plan, { x, shape, options }, { y: dy }, into) {
    const dx = into.x ?? plan.temp(x.shape, "activation.dx");
    const add = into.x === undefined ? 0 : 1;
    if (byFours(plan.device, shape[1])) {
      dispatchElements(plan, backwardByFours, { x_4: x, dy_4: dy, dx_4: dx }, shape, options, { four: true, add });
    } else dispatchElements(plan, backward, { x, dy, dx }, shape, options, { four: false, add });
    return { x: dx };
  },
};

function dispatchElements(
  plan: PlanBuilder,
  kernels: { readonly plain: Kernel; readonly gated: Kernel },
  tensors: Record<string, Tensor>,
  shape: readonly [Dim, number],
  o: ActivationOptions,
  { four, add }: { readonly four: boolean; readonly add: 0 | 1 },
): void {
  const grid = elementGrid(plan.device, four ? elementsByFours : undefined);
  plan.dispatch(o.gated ? kernels.gated : kernels.plain, {
    tensors,
    scalars: { count: elementCount(shape), width: shape[1], add },
    constants: { ...grid.constants, KIND: kinds.indexOf(o.kind) },
    workgroups: groupsOver(grid, four ? [shape[0], shape[1] / 4] : shape),
  });
}
