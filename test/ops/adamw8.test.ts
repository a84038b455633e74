// Plan: codes and levels on host and device agree; over hundreds of steps the parameters stay near those of f32 AdamW, also
// where gradients fade; windows; a bad gradient changes nothing; refusals.
import { describe, expect, it } from "#test";
import { Rng, seedKey } from "../../src/core/rng.ts";
import type { Device } from "../../src/gpu/device.ts";
import { PlanBuilder } from "../../src/gpu/plan_builder.ts";
import { readBuffer, uploadTensor } from "../../src/gpu/readback.ts";
import type { Tensor } from "../../src/gpu/tensor.ts";
import { adamw, adamwValues } from "../../src/ops/adamw.ts";
import { adamw8, decodeMoment, encodeMoment } from "../../src/ops/adamw8.ts";
import { testDevice } from "./opcheck.ts";

const settings = { learningRate: 1e-2, beta1: 0.9, beta2: 0.999, eps: 1e-8, weightDecay: 0.01 };

async function read(device: Device, t: Tensor): Promise<Float32Array> {
  if (t.storage.kind !== "buffer") throw new Error("a lasting tensor is read");
  return new Float32Array(await readBuffer(device, t.storage.buffer));
}

/** Runs both optimizers over the same gradients; returns their parameters. */
async function race(
  start: Float32Array,
  gradients: (step: number) => Float32Array,
  steps: number,
  windowBytes?: number,
): Promise<{ full: Float32Array; small: Float32Array }> {
  const device = await testDevice();
  const n = start.length;
  const tensors: Tensor[] = [];
  const upload = (name: string, data: Float32Array | Uint32Array): Tensor => {
    tensors.push(uploadTensor(device, name, [data.length], data));
    return tensors.at(-1) as Tensor;
  };
  const [full, small] = [upload("full", start), upload("small", start)];
  const [m, v] = [upload("m", new Float32Array(n)), upload("v", new Float32Array(n))];
  const moment = (name: string) => ({
    codes: upload(`${name}8`, new Uint32Array(n / 4)),
    scales: upload(`${name}_scales`, new Float32Array(n / 64)),
  });
  const [m8, v8] = [moment("m"), moment("v")];
  const plan = new PlanBuilder(device, "race");
  const [grads, stats] = [plan.input("grads", [n]), plan.input("stats", [4])];
  adamw(plan, { params: full, grads, m, v, stats });
  adamw8(plan, { params: small, grads, m: m8, v: v8, stats }, windowBytes);
  const built = await plan.build();
  for (let step = 1; step <= steps; step++) {
    const values = { ...adamwValues(settings, step), "adamw8.seed": step };
    await built.run(values, { grads: gradients(step), stats: Float32Array.of(1, 1, 0, 0) });
  }
  const out = { full: await read(device, full), small: await read(device, small) };
  built.dispose();
  for (const { storage } of tensors) if (storage.kind === "buffer") device.pool.release(storage.buffer);
  return out;
}

function distance(a: Float32Array, b: Float32Array): number {
  return Math.sqrt(a.reduce((sum, x, i) => sum + (x - (b[i] as number)) ** 2, 0));
}

describe("AdamW with 8-bit moments", () => {
  it("follows f32 AdamW over 300 steps of noisy gradients of all sizes", async () => {
    const rng = new Rng(seedKey(1));
    const n = 4096;
    const start = Float32Array.from({ length: n }, () => rng.normal());
    const size = Float32Array.from({ length: n }, () => 10 ** (-3 * rng.uniform()));
    const slope = Float32Array.from({ length: n }, () => rng.normal());
    const gradients = (): Float32Array => size.map((s, i) => s * ((slope[i] as number) + rng.normal()));
    const { full, small } = await race(start, gradients, 300);
    const error = distance(small, full) / distance(full, start);
    console.log(`8-bit AdamW after 300 steps: ${error.toFixed(4)} of the way`);
    expect(error).toBeLessThan(0.07);
  });

  it("lets go of gradients that fade", async () => {
    const n = 256;
    const start = new Float32Array(n);
    const rng = new Rng(seedKey(2));
    // Large for 20 steps, then a thousandth: the second moment must decay for the steps to grow again.
    const gradients = (step: number): Float32Array =>
      Float32Array.from({ length: n }, () => (step <= 20 ? 1 : 1e-3) * (1 + 0.1 * rng.normal()));
    const { full, small } = await race(start, gradients, 400);
    const error = distance(small, full) / distance(full, start);
    console.log(`8-bit AdamW with fading gradients: ${error.toFixed(4)} of the way`);
    expect(error).toBeLessThan(0.055);
  });

  it("computes the same in windows", async () => {
    const rng = new Rng(seedKey(3));
    const start = Float32Array.from({ length: 3 * 4096 }, () => rng.normal());
    const fixed = Array.from({ length: 5 }, () => start.map(() => rng.normal()));
    const gradients = (step: number): Float32Array => fixed[step - 1] as Float32Array;
    const whole = await race(start, gradients, 5);
    const parts = await race(start, gradients, 5, 4 * 4096);
    expect(parts.small).toEqual(whole.small);
  });

  it("refuses parameters that are no whole blocks", async () => {
    const plan = new PlanBuilder(await testDevice(), "adamw8");
    const t = plan.temp([32]);
    const moment = { codes: plan.temp([8]), scales: plan.temp([1]) };
    expect(() => adamw8(plan, { params: t, grads: t, m: moment, v: moment, stats: plan.temp([4]) })).toThrow(
      "ShapeError[adamw8.params]: expected (whole blocks of 64), got (32).",
    );
  });
});

describe("8-bit moments on the host", () => {
  it("stand for values within their step, and again for themselves", () => {
    const rng = new Rng(seedKey(4));
    for (const squared of [false, true]) {
      const values = Float32Array.from({ length: 512 }, () => rng.normal() * 10 ** -rng.below(3)).map((x) =>
        squared ? x * x : x,
      );
      values[3] = 0;
      const { codes, scales } = encodeMoment(values, squared);
      const back = decodeMoment(codes, scales, squared);
      for (const [i, x] of values.entries()) {
        const floor = (scales[Math.floor(i / 64)] as number) * 2 ** -10;
        if (Math.abs(x) > floor) expect(Math.abs((back[i] as number) / x - 1)).toBeLessThan(0.045);
      }
      expect(back[3]).toBe(0);
      const again = encodeMoment(back, squared);
      expect(again).toEqual({ codes, scales });
    }
  });
});
