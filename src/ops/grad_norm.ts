import { ShapeError } from "../core/errors.ts";
import { kernel } from "../gpu/kernel.ts";
import type { PlanBuilder } from "../gpu/plan_builder.ts";
import type { ScalarArg } from "../gpu/plan_values.ts";
import { dimText, maxElements, requireDims, type Tensor } from "../gpu/tensor.ts";
import { wgsl } from "../gpu/wgsl.gen.ts";
import { elementGrid, type Grid, groupsOver } from "./grid.ts";
import { bindingWindows } from "./windows.ts";

const square = kernel("grad_norm", wgsl.grad_norm, "square", ["grads", "part", "bad"]);
const settle = kernel("grad_norm", wgsl.grad_norm, "settle", ["part", "bad", "stats"]);

/** What `gradNorm` writes: (4) f32. */
export interface GradNormStats {
  /** Global norm of the finite gradients, times the factor. */
  norm: number;
  /** Factor the step multiplies every gradient by. */
  scale: number;
  /** True when a gradient or the norm is not finite: the step must change nothing. */
  skipped: boolean;
  /** Number of gradients that are NaN or infinite. */
  notFinite: number;
}

/** Options of `gradNorm`. */
export interface GradNormOptions {
  /** Gradients are scaled down to this norm; 0 never. */
  readonly maxNorm: ScalarArg;
  /** All gradients are multiplied by it before anything else: the normalisation of a batch collected in parts. Default 1. */
  readonly factor?: ScalarArg;
  /** Bounds one storage binding, for tests. */
  readonly windowBytes?: number;
}

/** Elements that each invocation sums before its result is added to the others'. */
const elementsPerPart = 512;

/**
 * Records the global norm over gradient buffers of fixed size, any size, into `stats` (4) f32 that `adamw` obeys and
 * `decodeGradNorm` reads: norm of factor * gradients, scale = factor * min(1, maxNorm / (norm + 1e-6)), skipped, number of non-finite gradients.
 * @throws ShapeError when stats is not (4), or a buffer has a dynamic axis.
 */
export function gradNorm(
  plan: PlanBuilder,
  grads: readonly Tensor[],
  stats: Tensor,
  { maxNorm, factor = 1, windowBytes }: GradNormOptions,
): void {
  requireDims("grad_norm.stats", [4], stats, "Pass four numbers.");
  for (const t of grads) {
    if (t.shape.every((d) => typeof d === "number")) continue;
    throw new ShapeError("grad_norm.grads", ["fixed axes"], t.shape.map(dimText), "Pass gradients of parameters.");
  }
  const grid = elementGrid(plan.device, elementsPerPart);
  const windows = grads.flatMap((t) => bindingWindows(plan.device, t, windowBytes));
  const counts = windows.map((w) => partsOf(grid, w));
  const parts = counts.reduce((a, b) => a + b, 0);
  const part = plan.temp([parts], "grad_norm.part");
  const bad = plan.temp([parts], "grad_norm.bad", "u32");
  let first = 0;
  for (const [i, window] of windows.entries()) {
    plan.dispatch(square, {
      tensors: { grads: window, part, bad },
      scalars: {
        count: maxElements(window.shape),
        first_part: first,
        parts: counts[i] as number,
        max_norm: 0,
        factor: 1,
      },
      constants: grid.constants,
      workgroups: groupsOver(grid, window.shape),
    });
    first += counts[i] as number;
  }
  plan.dispatch(settle, {
    tensors: { part, bad, stats },
    scalars: { count: 0, first_part: 0, parts, max_norm: maxNorm, factor },
    constants: { WG: 64 },
    workgroups: [1],
  });
}

/** `stats` as read back. */
export function decodeGradNorm(stats: Float32Array): GradNormStats {
  const [norm = 0, scale = 0, skipped = 0, notFinite = 0] = stats;
  return { norm, scale, skipped: skipped !== 0, notFinite };
}

/** Invocations that a grid gives a window, each with a partial sum. */
function partsOf({ constants, groups }: Grid, window: Tensor): number {
  const [x = 1, y = 1] = groups(maxElements(window.shape));
  return x * y * (constants.WG as number);
}
