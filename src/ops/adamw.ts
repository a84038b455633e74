import { ConfigError } from "../core/errors.ts";
import { kernel } from "../gpu/kernel.ts";
import type { PlanBuilder } from "../gpu/plan_builder.ts";
import type { PlanValues } from "../gpu/plan_values.ts";
import { maxElements, requireDims, type Tensor } from "../gpu/tensor.ts";
import { wgsl } from "../gpu/wgsl.gen.ts";
import { byFours, elementGrid, groupsOver } from "./grid.ts";
import { bindingWindows } from "./windows.ts";

const kernels = {
  one: kernel("adamw", wgsl.adamw, "adamw", ["params", "grads", "m", "v", "stats"]),
  four: kernel("adamw", wgsl.adamw, "adamw_4", ["params_4", "grads_4", "m_4", "v_4", "stats"]),
};

/** What one AdamW step updates, and from what. */
export interface AdamwIn {
  /** Parameters, gradients and both moments of one packed size, any size */
  readonly params: Tensor;
  readonly grads: Tensor;
  readonly m: Tensor;
  readonly v: Tensor;
  /** (4), as `gradNorm` wrote it */
  readonly stats: Tensor;
}

/** Settings of AdamW that `adamwValues` turns into a step's numbers. */
export interface AdamwSettings {
  learningRate: number;
  beta1: number;
  beta2: number;
  eps: number;
  weightDecay: number;
}

export const adamwScalarNames = [
  "keep",
  "one_minus_beta1",
  "beta2",
  "one_minus_beta2",
  "step_size",
  "root_correction",
  "eps",
] as const;

/**
 * Records one AdamW step in place, scaled and skipped as `stats` says. Its numbers are the plan's values "adamw.…",
 * which `adamwValues` computes for each step.
 * @throws ShapeError when the tensors are not of one shape. Source: Loshchilov & Hutter 2017, arXiv:1711.05101.
 */
export function adamw(plan: PlanBuilder, { params, grads, m, v, stats }: AdamwIn, windowBytes?: number): void {
  for (const [name, tensor] of Object.entries({ grads, m, v })) {
    requireDims(`adamw.${name}`, params.shape, tensor, "Pass tensors of the parameters' shape.");
  }
  requireDims("adamw.stats", [4], stats, "Pass what gradNorm wrote.");
  const grid = elementGrid(plan.device);
  const [gradParts, mParts, vParts] = [grads, m, v].map((t) => bindingWindows(plan.device, t, windowBytes));
  const scalars = Object.fromEntries(adamwScalarNames.map((name) => [name, plan.scalar(`adamw.${name}`)]));
  for (const [i, window] of bindingWindows(plan.device, params, windowBytes).entries()) {
    const count = maxElements(window.shape);
    const fours = byFours(plan.device, count);
    const own = { params: window, grads: gradParts?.[i], m: mParts?.[i], v: vParts?.[i] } as Record<string, Tensor>;
    const tensors = Object.fromEntries(Object.entries(own).map(([name, t]) => [fours ? `${name}_4` : name, t]));
    plan.dispatch(fours ? kernels.four : kernels.one, {
      tensors: { ...tensors, stats },
      scalars: { count, ...scalars },
      constants: grid.constants,
      workgroups: groupsOver(grid, [fours ? count / 4 : count]),
    });
  }
}

/** A setting that is no number would make every weight one. @throws ConfigError */
function checkSettings(settings: AdamwSettings): void {
  const { learningRate, beta1, beta2, eps, weightDecay } = settings;
  const rules: readonly [name: keyof AdamwSettings, holds: boolean, range: string][] = [
    ["learningRate", Number.isFinite(learningRate) && learningRate >= 0, "at least 0"],
    ["beta1", beta1 >= 0 && beta1 < 1, "in [0, 1)"],
    ["beta2", beta2 >= 0 && beta2 < 1, "in [0, 1)"],
    ["eps", Number.isFinite(eps) && eps > 0, "above 0"],
    ["weightDecay", Number.isFinite(weightDecay) && weightDecay >= 0, "at least 0"],
  ];
  const broken = rules.find(([, holds]) => !holds);
  if (broken === undefined) return;
  const [name, , range] = broken;
  throw new ConfigError(`AdamW cannot use ${name} ${settings[name]}; it must be a number ${range}.`, {
    do: `Correct ${name}.`,
  });
}

/**
 * The plan values of step `step`, counted from 1 and only over steps that were not skipped; computed in float64.
 * @throws ConfigError for a setting out of range
 */
export function adamwValues(settings: AdamwSettings, step: number): PlanValues {
  checkSettings(settings);
  const { learningRate, beta1, beta2, eps, weightDecay } = settings;
  const values: Record<(typeof adamwScalarNames)[number], number> = {
    keep: 1 - learningRate * weightDecay,
    one_minus_beta1: 1 - beta1,
    beta2,
    one_minus_beta2: 1 - beta2,
    step_size: learningRate / (1 - beta1 ** step),
    root_correction: Math.sqrt(1 - beta2 ** step),
    eps,
  };
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [`adamw.${name}`, value]));
}
