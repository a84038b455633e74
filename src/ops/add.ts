import { kernel } from "../gpu/kernel.ts";
import type { PlanBuilder } from "../gpu/plan_builder.ts";
import { requireDims, type Tensor } from "../gpu/tensor.ts";
import { wgsl } from "../gpu/wgsl.gen.ts";
import { elementCount, elementGrid, groupsOver } from "./grid.ts";
import { bindingWindows } from "./windows.ts";

const addKernel = kernel("add", wgsl.add, "add");

/** Records y += x over f32 tensors of one shape and any size. @throws ShapeError when the shapes differ. */
export function add(plan: PlanBuilder, y: Tensor, x: Tensor): void {
  requireDims("add.x", y.shape, x, "Add tensors of one shape.");
  const grid = elementGrid(plan.device);
  const parts = bindingWindows(plan.device, x);
  for (const [i, window] of bindingWindows(plan.device, y).entries()) {
    plan.dispatch(addKernel, {
      tensors: { x: parts[i] as Tensor, y: window },
      scalars: { count: elementCount(window.shape) },
      constants: grid.constants,
      workgroups: groupsOver(grid, window.shape),
    });
  }
}
