import { ShapeError } from "../core/errors.ts";
import { kernel } from "../gpu/kernel.ts";
import type { PlanBuilder } from "../gpu/plan_builder.ts";
import { linearGroups } from "../gpu/plan_values.ts";
import { dimText, requireDims, type Tensor } from "../gpu/tensor.ts";
import { wgsl } from "../gpu/wgsl.gen.ts";
import { adamwScalarNames } from "./adamw.ts";

const adamw8Kernel = kernel("adamw8", wgsl.adamw8, "adamw8");
const workgroup = 8;

/** Elements that share a scale. */
export const momentBlock = 64;
/** Levels to a factor of two, as in the shader. */
const levelsPerOctave = { m: 8, v: 12 } as const;
/** A window begins at a multiple of this many elements, so that its scales begin at an aligned offset. */
const windowElements = 4096;

/** A moment of n elements in 8 bits: codes (n/4) u32, four to a word, and scales (n/64) f32. */
export interface Moment8 {
  readonly codes: Tensor;
  readonly scales: Tensor;
}

/** What one step updates, and from what: `params` and `grads` (n), n a multiple of 64. */
export interface Adamw8In {
  readonly params: Tensor;
  readonly grads: Tensor;
  readonly m: Moment8;
  readonly v: Moment8;
  /** (4), as `gradNorm` wrote it */
  readonly stats: Tensor;
}

/**
 * Records one AdamW step in place with 8-bit moments, scaled and skipped as `stats` says. Its numbers are the plan's values
 * "adamw.…", which `adamwValues` computes, and "adamw8.seed", the number of the step.
 * @throws ShapeError when the sizes do not fit. Source: Dettmers et al. 2021, arXiv:2110.02861.
 */
export function adamw8(plan: PlanBuilder, { params, grads, m, v, stats }: Adamw8In, windowBytes?: number): void {
  const [count] = params.shape as [number];
  if (params.shape.length !== 1 || count % momentBlock !== 0) {
    throw new ShapeError("adamw8.params", ["whole blocks of 64"], params.shape.map(dimText), "Pass packed parameters.");
  }
  requireDims("adamw8.grads", [count], grads, "Pass gradients of the parameters' shape.");
  for (const [name, moment] of Object.entries({ m, v })) {
    requireDims(`adamw8.${name}.codes`, [count / 4], moment.codes, "Pass a byte per element.");
    requireDims(`adamw8.${name}.scales`, [count / momentBlock], moment.scales, "Pass a scale per block.");
  }
  const limit = Math.min(windowBytes ?? Number.POSITIVE_INFINITY, plan.device.caps.limits.maxBindingBytes);
  const step = Math.max(1, Math.floor(limit / 4 / windowElements)) * windowElements;
  const scalars = Object.fromEntries(adamwScalarNames.map((name) => [name, plan.scalar(`adamw.${name}`)]));
  const seed = plan.scalar("adamw8.seed");
  for (let first = 0; first < count; first += step) {
    const size = Math.min(step, count - first);
    const view = (t: Tensor, perElement: number): Tensor => ({
      ...t,
      shape: [size * perElement],
      offsetBytes: t.offsetBytes + first * perElement * 4,
    });
    const [codes, scales] = [1 / 4, 1 / momentBlock];
    plan.dispatch(adamw8Kernel, {
      tensors: {
        ...{ params: view(params, 1), grads: view(grads, 1), stats },
        ...{ m_codes: view(m.codes, codes), m_scales: view(m.scales, scales) },
        ...{ v_codes: view(v.codes, codes), v_scales: view(v.scales, scales) },
      },
      scalars: { count: size, first, seed, ...scalars },
      constants: { WG: workgroup },
      workgroups: linearGroups(Math.ceil(size / momentBlock / workgroup)),
    });
  }
}

/** Bytes of a moment's codes and its scales for some f32 values: the nearest levels. `squared`: v, which has no sign. */
export function encodeMoment(values: Float32Array, squared: boolean): { codes: Uint8Array; scales: Float32Array } {
  const codes = new Uint8Array(values.length);
  const scales = new Float32Array(values.length / momentBlock);
  const [top, steps, least] = squared ? [255, levelsPerOctave.v, 1] : [127, levelsPerOctave.m, 0];
  for (let block = 0; block < scales.length; block++) {
    const start = block * momentBlock;
    const part = values.subarray(start, start + momentBlock);
    const scale = part.reduce((n, x) => Math.max(n, Math.abs(x)), 0);
    scales[block] = scale;
    if (scale === 0) continue;
    for (const [i, x] of part.entries()) {
      if (x === 0) continue;
      const level = Math.max(least, Math.min(top, Math.round(top + steps * Math.log2(Math.abs(x) / scale))));
      codes[start + i] = level === 0 ? 0 : level | (x < 0 ? 128 : 0);
    }
  }
  return { codes, scales };
}

/** The f32 values that a moment stands for. */
export function decodeMoment(codes: Uint8Array, scales: Float32Array, squared: boolean): Float32Array {
  const [top, steps] = squared ? [255, levelsPerOctave.v] : [127, levelsPerOctave.m];
  return Float32Array.from(codes, (code, i) => {
    const level = code & top;
    if (level === 0) return 0;
    const size = (scales[Math.floor(i / momentBlock)] as number) * 2 ** ((level - top) / steps);
    return !squared && code >= 128 ? -size : size;
  });
}
