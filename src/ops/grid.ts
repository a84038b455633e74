import { softwareLanes } from "../gpu/capabilities.ts";
import type { Device } from "../gpu/device.ts";
import type { Constants } from "../gpu/pipelines.ts";
import { dimValue, linearGroups, type PlanValues } from "../gpu/plan_values.ts";
import type { Dim } from "../gpu/tensor.ts";

/** How a kernel is cut into workgroups: its override constants, and workgroup counts by problem size. */
export interface Grid {
  readonly constants: Constants;
  groups(count: number): readonly number[];
}

/**
 * Grid of kernels that give each row its invocations (shaders/row_sum.wgsl). A software adapter runs one invocation per
 * row, since emulated barriers and idle lanes cost more than strided reads; a GPU runs one workgroup per row.
 */
export function rowGrid(device: Device): Grid {
  const [WG, LANES] = device.caps.deviceClass === "software" ? [16, 1] : [64, 64];
  return { constants: { WG, LANES }, groups: (rows) => linearGroups(Math.ceil(rows / (WG / LANES))) };
}

/** Grid of elementwise kernels (shaders/span.wgsl), each invocation handling `items` elements or as many as suit. */
export function elementGrid(device: Device, items?: number): Grid {
  const [WG, suited] = device.caps.deviceClass === "software" ? [softwareLanes(device.caps), 128] : [256, 2];
  const ITEMS = items ?? suited;
  return { constants: { WG, ITEMS }, groups: (elements) => linearGroups(Math.ceil(elements / (WG * ITEMS))) };
}

/** Whether rows of `cols` numbers are handled four at a time: a software adapter pays per read, not per number read. */
export function byFours({ caps }: Device, cols: Dim): boolean {
  return caps.deviceClass === "software" && typeof cols === "number" && cols % 4 === 0;
}

/** Number of elements of a shape at a replay. */
export function elementCount(shape: readonly Dim[]): (values: PlanValues) => number {
  return (values) => shape.reduce<number>((n, d) => n * dimValue(d, values), 1);
}

/** Workgroups of a grid over the elements of a shape. */
export function groupsOver(grid: Grid, shape: readonly Dim[]): (values: PlanValues) => readonly number[] {
  const count = elementCount(shape);
  return (values) => grid.groups(count(values));
}
