/**
 * Cases: several steps against float64 AdamW with decay and clipping, in one binding and in windows; the norm over several
 * buffers; equal bits by fours and one by one; no clip, clip inactive and active; gradients with NaN, infinity or an
 * overflowing norm change nothing.
 */
import { describe, expect, it } from "#test";
import { Rng, seedKey } from "../../src/core/rng.ts";
import type { Device } from "../../src/gpu/device.ts";
import { PlanBuilder } from "../../src/gpu/plan_builder.ts";
import { uploadTensor } from "../../src/gpu/readback.ts";
import type { Tensor } from "../../src/gpu/tensor.ts";
import { type AdamwSettings, adamw, adamwValues } from "../../src/ops/adamw.ts";
import { decodeGradNorm, type GradNormStats, gradNorm } from "../../src/ops/grad_norm.ts";
import { expectClose, testDevice, testDeviceWith } from "./opcheck.ts";

const settings: AdamwSettings = { learningRate: 0.01, beta1: 0.9, beta2: 0.95, eps: 1e-8, weightDecay: 0.1 };

interface State {
  params: Float32Array;
  m: Float32Array;
  v: Float32Array;
}

/** Runs one step per gradient from zero moments; a skipped step does not count. */
async function train(
  device: Device,
  start: Float32Array,
  grads: readonly Float32Array[],
  maxNorm: number,
  windowBytes?: number,
): Promise<{ state: State; stats: GradNormStats[] }> {
  const n = start.length;
  const tensors = {
    params: uploadTensor(device, "params", [n], start),
    grads: uploadTensor(device, "grads", [n], new Float32Array(n)),
    m: uploadTensor(device, "m", [n], new Float32Array(n)),
    v: uploadTensor(device, "v", [n], new Float32Array(n)),
    stats: uploadTensor(device, "stats", [4], new Float32Array(4)),
  };
  const plan = new PlanBuilder(device, "adamw");
  gradNorm(plan, [tensors.grads], tensors.stats, { maxNorm: plan.scalar("maxNorm"), windowBytes });
  adamw(plan, tensors, windowBytes);
  for (const name of ["params", "m", "v", "stats"] as const) plan.output(name, tensors[name]);
  const built = await plan.build();
  const stats: GradNormStats[] = [];
  let state: State = { params: start, m: new Float32Array(n), v: new Float32Array(n) };
  let step = 0;
  for (const g of grads) {
    if (tensors.grads.storage.kind === "buffer") {
      device.gpu.queue.writeBuffer(tensors.grads.storage.buffer.gpu, 0, g as Float32Array<ArrayBuffer>);
    }
    const read = await built.run({ maxNorm, ...adamwValues(settings, step + 1) }, {});
    stats.push(decodeGradNorm(read.stats as Float32Array));
    state = read as unknown as State;
    if (stats.at(-1)?.skipped === false) step++;
  }
  built.dispose();
  for (const t of Object.values(tensors)) if (t.storage.kind === "buffer") device.pool.release(t.storage.buffer);
  return { state, stats };
}

/** torch.optim.AdamW after clip_grad_norm_, in float64. */
function reference(
  start: Float32Array,
  grads: readonly Float32Array[],
  maxNorm: number,
): { p: number[]; norms: number[] } {
  const { learningRate: lr, beta1, beta2, eps, weightDecay } = settings;
  const p = Array.from(start);
  const m = new Float64Array(p.length);
  const v = new Float64Array(p.length);
  const norms = grads.map((g) => Math.sqrt(g.reduce((s, x) => s + x * x, 0)));
  for (const [t, grad] of grads.entries()) {
    const scale = maxNorm > 0 ? Math.min(1, maxNorm / ((norms[t] as number) + 1e-6)) : 1;
    for (const [i, raw] of grad.entries()) {
      const g = raw * scale;
      m[i] = beta1 * (m[i] as number) + (1 - beta1) * g;
      v[i] = beta2 * (v[i] as number) + (1 - beta2) * g * g;
      const first = (m[i] as number) / (1 - beta1 ** (t + 1));
      const second = (v[i] as number) / (1 - beta2 ** (t + 1));
      p[i] = (p[i] as number) * (1 - lr * weightDecay) - (lr * first) / (Math.sqrt(second) + eps);
    }
  }
  return { p, norms };
}

function normals(n: number, seed: number, scale = 1): Float32Array {
  const rng = new Rng(seedKey(seed));
  return Float32Array.from({ length: n }, () => scale * rng.normal());
}

describe("gradNorm and adamw", () => {
  for (const caps of [{ deviceClass: "software" }, { deviceClass: "gpu" }] as const) {
    for (const [n, maxNorm, windowBytes] of [
      [1, 0, undefined],
      [1000, 1, undefined],
      [1000, 1e6, undefined],
      [70001, 0.5, undefined],
      [5000, 1, 4096],
    ] as const) {
      it(`follow float64 over 5 steps: ${n} parameters, clip ${maxNorm}, window ${windowBytes} on ${caps.deviceClass}`, async () => {
        const device = await testDeviceWith(caps);
        const before = device.pool.usage.buffers;
        const start = normals(n, 1);
        const grads = Array.from({ length: 5 }, (_, t) => normals(n, 2 + t, 10 ** (t - 2)));
        const { state, stats } = await train(device, start, grads, maxNorm, windowBytes);
        const want = reference(start, grads, maxNorm);
        // Parameters reach 4, where one f32 rounding is 2.4e-7; each step rounds twice.
        expectClose("params", state.params, want.p, 2.5e-6);
        for (const [t, s] of stats.entries()) {
          const norm = want.norms[t] as number;
          expect(Math.abs(s.norm / norm - 1)).toBeLessThan(1e-6);
          const scale = maxNorm > 0 ? Math.min(1, maxNorm / (norm + 1e-6)) : 1;
          expect(Math.abs(s.scale / scale - 1)).toBeLessThan(1e-6);
          expect([s.skipped, s.notFinite]).toEqual([false, 0]);
        }
        expect(device.pool.usage.buffers).toBe(before);
      });
    }
  }

  it("gives a parameter the same bits whether it is handled alone or with three others", async () => {
    const device = await testDevice();
    const [start, gradient] = [normals(1003, 1), normals(1003, 2)];
    const alone = await train(device, start, [gradient], 0);
    const fours = await train(device, start.slice(0, 1000), [gradient.slice(0, 1000)], 0);
    for (const key of ["params", "m", "v"] as const) expect(alone.state[key].slice(0, 1000)).toEqual(fours.state[key]);
  });

  for (const [name, spoil, notFinite] of [
    ["NaN", (g: Float32Array) => g.fill(Number.NaN, 4999, 5000), 1],
    ["infinity", (g: Float32Array) => g.fill(Number.NEGATIVE_INFINITY, 7, 10), 3],
    ["a norm past f32", (g: Float32Array) => g.fill(3e38, 0, 2), 0],
  ] as const) {
    it(`a step with ${name} changes nothing, is flagged, and the next goes on`, async () => {
      const device = await testDevice();
      const start = normals(5000, 1);
      const bad = normals(5000, 2);
      spoil(bad);
      const good = [normals(5000, 3), normals(5000, 4)] as const;
      const spoiled = await train(device, start, [good[0], bad, good[1]], 1, 8192);
      const clean = await train(device, start, good, 1, 8192);
      expect(spoiled.stats.map((s) => s.skipped)).toEqual([false, true, false]);
      expect(spoiled.stats[1]?.notFinite).toBe(notFinite);
      expect(spoiled.stats[1]?.scale).toBe(0);
      for (const key of ["params", "m", "v"] as const) expect(spoiled.state[key]).toEqual(clean.state[key]);
    });
  }

  it("take the norm over several buffers", async () => {
    const device = await testDevice();
    const parts = [normals(300, 1), normals(5, 2), normals(2000, 3)];
    const tensors = parts.map((g, i) => uploadTensor(device, `g${i}`, [g.length], g));
    const stats = uploadTensor(device, "stats", [4], new Float32Array(4));
    const plan = new PlanBuilder(device, "norm");
    gradNorm(plan, tensors, stats, { maxNorm: 0, windowBytes: 1024 });
    plan.output("stats", stats);
    const built = await plan.build();
    const got = decodeGradNorm((await built.run({}, {})).stats as Float32Array);
    const want = Math.sqrt(parts.reduce((s, g) => s + g.reduce((a, x) => a + x * x, 0), 0));
    expect(Math.abs(got.norm / want - 1)).toBeLessThan(1e-6);
    expect(got.scale).toBe(1);
    built.dispose();
    for (const t of [...tensors, stats]) if (t.storage.kind === "buffer") device.pool.release(t.storage.buffer);
  });

  it("refuse shapes that differ and dynamic gradients", async () => {
    const plan = new PlanBuilder(await testDevice(), "adamw");
    const t = (...shape: number[]): Tensor => plan.temp(shape, "t");
    const good = { params: t(8), grads: t(8), m: t(8), v: t(8), stats: t(4) };
    expect(() => adamw(plan, { ...good, m: t(7) })).toThrow("ShapeError[adamw.m]: expected (8), got (7).");
    expect(() => adamw(plan, { ...good, stats: t(8) })).toThrow("ShapeError[adamw.stats]: expected (4), got (8).");
    expect(() => gradNorm(plan, [good.grads], t(3), { maxNorm: 0 })).toThrow("ShapeError[grad_norm.stats]");
    const dynamic = plan.temp([plan.dim("T", 4)]);
    expect(() => gradNorm(plan, [dynamic], t(4), { maxNorm: 0 })).toThrow("ShapeError[grad_norm.grads]");
  });

  it("refuse settings that would spoil every weight", () => {
    const wrong: [Partial<AdamwSettings>, string][] = [
      [{ learningRate: Number.NaN }, "AdamW cannot use learningRate NaN; it must be a number at least 0."],
      [{ learningRate: Number.POSITIVE_INFINITY }, "learningRate Infinity"],
      [{ beta1: 1 }, "beta1 1; it must be a number in [0, 1)"],
      [{ beta2: -0.1 }, "beta2 -0.1"],
      [{ eps: 0 }, "eps 0; it must be a number above 0"],
      [{ weightDecay: Number.NaN }, "weightDecay NaN"],
    ];
    for (const [setting, text] of wrong) expect(() => adamwValues({ ...settings, ...setting }, 1)).toThrow(text);
  });
});
