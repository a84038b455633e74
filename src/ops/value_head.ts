import { kernel } from "../gpu/kernel.ts";
import type { PlanBuilder } from "../gpu/plan_builder.ts";
import { dimValue, linearGroups, type PlanValues, type ScalarArg } from "../gpu/plan_values.ts";
import { type Dim, requireDims, type Tensor } from "../gpu/tensor.ts";
import { wgsl } from "../gpu/wgsl.gen.ts";
import { rowGrid } from "./grid.ts";
import { type RecordIndex, recordIndex } from "./record_index.ts";

const records = ["src", "weight", "old_value", "target_value"] as const;
const kernels = {
  evaluate: kernel("value_head", wgsl.value_head, "evaluate", ["h", "w", "b", ...records, "stats"]),
  spread: kernel("value_head", wgsl.value_head, "spread", ["w", "stats", "off", "order", "dh"]),
  gain: kernel("value_head", wgsl.value_head, "gain", ["h", "src", "stats", "dw", "db"]),
};

/** Columns of a record's statistics (R,4): value, weight * loss, whether the clip held, weight * dloss/dvalue. */
export const valueColumns = { width: 4, value: 0, loss: 1, clipped: 2 } as const;

/** A value head, or where its gradients go. */
export interface ValueHeadTensors {
  /** (1,C) and (1) */
  readonly w: Tensor;
  readonly bias: Tensor;
}

/** Inputs of the value head: R records over T hidden rows. */
export interface ValueHeadIn extends ValueHeadTensors {
  /** (T,C) */
  readonly h: Tensor;
  /** (R) u32: hidden row of each record. */
  readonly src: Tensor;
  /** (R) f32 each: weight of its loss, value before the step, value wanted. */
  readonly weight: Tensor;
  readonly oldValue: Tensor;
  readonly returns: Tensor;
}

/**
 * Records values and clipped value losses of the records: stats (R,4), columns `valueColumns`. The plan's value
 * "value.clip_range" bounds how far a value may move from the old one; 0 turns the clip off.
 * @throws ShapeError when a shape does not fit. Source: see shaders/value_head.wgsl.
 */
export function valueHead(plan: PlanBuilder, inputs: ValueHeadIn): Tensor {
  const { h, w, bias, src, weight, oldValue, returns } = inputs;
  const [rows = 0, width = 0] = h.shape;
  const [R = 0] = src.shape;
  requireDims("value_head.h", [rows, width], h, "Pass a matrix of hidden rows.");
  requireDims("value_head.w", [1, width], w, "Pass a head of one row as wide as the hidden rows.");
  requireDims("value_head.bias", [1], bias, "Pass one number.");
  for (const [name, tensor] of Object.entries({ weight, oldValue, returns })) {
    requireDims(`value_head.${name}`, [R], tensor, "Pass one number per record.");
  }
  const stats = plan.temp([R, valueColumns.width], "value_head.stats");
  const grid = rowGrid(plan.device);
  plan.dispatch(kernels.evaluate, {
    tensors: { h, w, b: bias, src, weight, old_value: oldValue, target_value: returns, stats },
    scalars: scalars(plan, R, width),
    constants: grid.constants,
    workgroups: (v) => grid.groups(dimValue(R, v)),
  });
  return stats;
}

/**
 * Records the gradients of `valueHead`: dh (T,C) fresh, `into.w` and `into.bias` accumulate. The plan has the inputs of
 * `recordIndex`, unless that is given.
 */
export function backwardValueHead(
  plan: PlanBuilder,
  inputs: ValueHeadIn,
  stats: Tensor,
  into: ValueHeadTensors,
  index?: RecordIndex,
): Tensor {
  const { h, w, src } = inputs;
  const [tokens = 0, width = 0] = h.shape;
  const [R = 0] = src.shape;
  const dh = plan.temp(h.shape, "value_head.dh");
  const { off, order } = index ?? recordIndex(plan, tokens, R);
  const grid = rowGrid(plan.device);
  plan.dispatch(kernels.spread, {
    tensors: { w, stats, off, order, dh },
    scalars: scalars(plan, tokens, width),
    constants: grid.constants,
    workgroups: (v) => grid.groups(dimValue(tokens, v)),
  });
  accumulateValueHead(plan, inputs, stats, into);
  return dh;
}

/** Records the gradients of the head alone: the hidden rows are taken as given. `into` accumulates. */
export function accumulateValueHead(
  plan: PlanBuilder,
  { h, src }: ValueHeadIn,
  stats: Tensor,
  into: ValueHeadTensors,
): void {
  const [, width = 0] = h.shape;
  const [R = 0] = src.shape;
  const columns = 32;
  plan.dispatch(kernels.gain, {
    tensors: { h, src, stats, dw: into.w, db: into.bias },
    scalars: scalars(plan, R, width),
    constants: { WG: columns, LANES: 1 },
    workgroups: linearGroups(Math.ceil(((width as number) + 1) / columns)),
  });
}

/** The Dims fields over `rows` records or hidden rows. */
function scalars(plan: PlanBuilder, rows: Dim, width: Dim): Record<string, ScalarArg> {
  const count = (v: PlanValues): number => dimValue(rows, v);
  return { rows: count, width: width as number, clip_range: plan.scalar("value.clip_range") };
}
