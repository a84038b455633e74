import { kernel } from "../gpu/kernel.ts";
import type { PlanBuilder } from "../gpu/plan_builder.ts";
import type { ScalarArg } from "../gpu/plan_values.ts";
import type { Tensor } from "../gpu/tensor.ts";
import { wgsl } from "../gpu/wgsl.gen.ts";
import { elementCount, elementGrid, groupsOver } from "./grid.ts";
import { bindingWindows } from "./windows.ts";

const fillKernel = kernel("fill", wgsl.fill, "fill");

/** Records y = value over an f32 tensor of any size. @throws ShapeError as `bindingWindows`. */
export function fill(plan: PlanBuilder, y: Tensor, value: ScalarArg): void {
  const grid = elementGrid(plan.device);
  for (const window of bindingWindows(plan.device, y)) {
    plan.dispatch(fillKernel, {
      tensors: { y: window },
      scalars: { count: elementCount(window.shape), value },
      constants: grid.constants,
      workgroups: groupsOver(grid, window.shape),
    });
  }
}

/** Records y = 0 over an f32 tensor of any size: gradients before an accumulation. */
export function zero(plan: PlanBuilder, y: Tensor): void {
  fill(plan, y, 0);
}
