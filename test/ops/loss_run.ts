import { Rng, seedKey } from "../../src/core/rng.ts";
import type { Device } from "../../src/gpu/device.ts";
import { PlanBuilder } from "../../src/gpu/plan_builder.ts";
import { uploadTensor } from "../../src/gpu/readback.ts";
import { type LossHeadOptions, lossHead } from "../../src/ops/loss_head.ts";
import { type LossSettings, lossValues } from "../../src/ops/loss_settings.ts";
import { recordIndexInputs } from "../../src/ops/record_index.ts";
import { type LossCase, logprobsOf } from "./loss_reference.ts";

/** Cross entropy; cases change what they test. */
export const baseLoss: LossSettings = {
  kind: "cross_entropy",
  temperature: 1,
  clipLow: 0.2,
  clipHigh: 0.28,
  dualClip: 3,
  klCoef: 0,
  klKind: "k3",
  entropyCoef: 0,
};

/** Random hidden rows, head and records, with log-probabilities near the true ones. */
export function drawCase(T: number, C: number, V: number, R: number, seed = 1): LossCase {
  const rng = new Rng(seedKey(seed));
  const normals = (n: number): Float64Array => Float64Array.from({ length: n }, () => Math.fround(rng.normal()));
  const c: LossCase = {
    T,
    C,
    V,
    h: normals(T * C),
    w: normals(V * C),
    src: Array.from({ length: R }, () => rng.below(T)),
    target: Array.from({ length: R }, () => rng.below(V)),
    weight: Array.from({ length: R }, () => Math.fround(0.2 + rng.uniform())),
    advantage: Array.from({ length: R }, () => Math.fround(rng.normal())),
    oldLogprob: [],
    refLogprob: [],
  };
  // Ratios on both sides of every clip.
  const near = (spread: number, r: number): number =>
    Math.fround((logprobsOf(c, r, 1)[c.target[r] as number] as number) + spread * rng.normal());
  c.oldLogprob = c.src.map((_, r) => near(1.5, r));
  c.refLogprob = c.src.map((_, r) => near(0.5, r));
  return c;
}

/** What a loss head gave. */
export interface LossGot {
  stats: Float32Array;
  dh: Float32Array;
  dw: Float32Array;
}

/** How to run it. */
export interface LossRun {
  options?: Partial<LossHeadOptions>;
  /** What the gradients of h and w hold before. */
  before?: number;
  /** Records planned for beyond those given. */
  spare?: number;
  loss: LossSettings;
}

/** Statistics and gradients of a case, computed on the device. */
export async function computeLoss(device: Device, c: LossCase, run: LossRun): Promise<LossGot> {
  const plan = new PlanBuilder(device, "loss");
  const R = plan.dim("R", c.src.length + (run.spare ?? 0));
  const T = plan.dim("T", c.T + (run.spare ?? 0));
  const w = uploadTensor(device, "w", [c.V, c.C], Float32Array.from(c.w));
  const dw = uploadTensor(device, "dw", [c.V, c.C], new Float32Array(c.V * c.C).fill(run.before ?? 0));
  const room = new Float32Array((c.T + (run.spare ?? 0)) * c.C).fill(run.before ?? 0);
  const dh = uploadTensor(device, "dh", [c.T + (run.spare ?? 0), c.C], room);
  const inputs = {
    h: plan.input("h", [T, c.C]),
    w,
    src: plan.input("src", [R], "u32"),
    target: plan.input("target", [R], "u32"),
    weight: plan.input("weight", [R]),
    advantage: plan.input("advantage", [R]),
    oldLogprob: plan.input("oldLogprob", [R]),
    refLogprob: plan.input("refLogprob", [R]),
  };
  const into = run.before === undefined ? { w: dw } : { w: dw, h: { ...dh, shape: [T, c.C] } };
  const out = lossHead(plan, inputs, into, { kind: run.loss.kind, ...run.options });
  for (const [name, tensor] of Object.entries({ stats: out.stats, dh: out.dh, dw })) plan.output(name, tensor);
  const built = await plan.build();
  const read = await built.run({ R: c.src.length, T: c.T, ...lossValues(run.loss) }, hostInputs(c));
  built.dispose();
  for (const t of [w, dw, dh]) if (t.storage.kind === "buffer") device.pool.release(t.storage.buffer);
  return read as unknown as LossGot;
}

/** Plan inputs of a case. */
export function hostInputs(c: LossCase): Record<string, Float32Array | Uint32Array> {
  return {
    h: Float32Array.from(c.h),
    src: Uint32Array.from(c.src),
    target: Uint32Array.from(c.target),
    weight: Float32Array.from(c.weight),
    advantage: Float32Array.from(c.advantage),
    oldLogprob: Float32Array.from(c.oldLogprob),
    refLogprob: Float32Array.from(c.refLogprob),
    ...(recordIndexInputs(c.src, c.T) as Record<string, Uint32Array>),
  };
}
