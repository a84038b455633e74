// Plan: products with f16 and i8 weights against float64 of the numbers these stand for, every family bit for bit alike, at
// sizes with and without vectors and tails; linear's gradient of x; the table of the embedding in windows; refusals.
import { describe, expect, it } from "#test";
import { Rng, seedKey } from "../../src/core/rng.ts";
import type { Device } from "../../src/gpu/device.ts";
import { PlanBuilder } from "../../src/gpu/plan_builder.ts";
import { uploadTensor } from "../../src/gpu/readback.ts";
import type { Tensor } from "../../src/gpu/tensor.ts";
import { fromInt8, toInt8 } from "../../src/model/frozen_values.ts";
import { embedding } from "../../src/ops/embedding.ts";
import { linear } from "../../src/ops/linear.ts";
import { matmul } from "../../src/ops/matmul/matmul.ts";
import type { MatmulFamily } from "../../src/ops/matmul/problem.ts";
import { expectClose, testDevice } from "./opcheck.ts";

type Packed = "f16" | "i8";

/** A random matrix on the device in a packed type, and the numbers it stands for. */
function weights(
  device: Device,
  type: Packed,
  rows: number,
  cols: number,
  rng: Rng,
): { w: Tensor; values: Float32Array } {
  const drawn = Float32Array.from({ length: rows * cols }, () => rng.normal());
  const words = (bytes: ArrayBuffer): Uint32Array => {
    const padded = new Uint8Array(Math.ceil(bytes.byteLength / 4) * 4);
    padded.set(new Uint8Array(bytes));
    return new Uint32Array(padded.buffer);
  };
  if (type === "f16") {
    const halves = new Float16Array(drawn);
    const w = uploadTensor(device, "w", [rows, cols], words(halves.buffer as ArrayBuffer));
    return { w: { ...w, dtype: "f16" }, values: Float32Array.from(halves) };
  }
  const int8 = toInt8(drawn);
  const scales = uploadTensor(device, "scales", [rows, cols / 64], int8.scales);
  const w = uploadTensor(device, "w", [rows, cols], words(int8.bytes.buffer as ArrayBuffer));
  return { w: { ...w, dtype: "i8", scales }, values: fromInt8(int8) };
}

function release(device: Device, ...tensors: readonly (Tensor | undefined)[]): void {
  for (const t of tensors) if (t?.storage.kind === "buffer") device.pool.release(t.storage.buffer);
}

async function product(device: Device, x: Tensor, w: Tensor, form: "NN" | "NT", N: number, family?: MatmulFamily) {
  const [M, K] = x.shape as [number, number];
  const plan = new PlanBuilder(device, "packed");
  const c = plan.temp([M, N]);
  matmul(plan, { a: x, b: w, c, form, M, N, K, ...(family === undefined ? {} : { families: [family] }) });
  plan.output("c", c);
  const built = await plan.build();
  const out = await built.run({}, {});
  built.dispose();
  return out.c as Float32Array;
}

function reference(x: Float32Array, w: Float32Array, form: "NN" | "NT", M: number, N: number, K: number): Float64Array {
  const out = new Float64Array(M * N);
  for (let m = 0; m < M; m++) {
    for (let n = 0; n < N; n++) {
      let sum = 0;
      for (let k = 0; k < K; k++)
        sum += (x[m * K + k] as number) * (w[form === "NT" ? n * K + k : k * N + n] as number);
      out[m * N + n] = sum;
    }
  }
  return out;
}

describe("packed weights", () => {
  for (const [type, form, M, N, K] of [
    ["f16", "NT", 37, 44, 20],
    ["f16", "NT", 1, 21, 12],
    ["f16", "NN", 9, 36, 19],
    ["f16", "NN", 3, 5, 7],
    ["i8", "NT", 37, 44, 64],
    ["i8", "NT", 5, 21, 128],
    ["i8", "NN", 9, 64, 20],
    ["i8", "NN", 1, 128, 7],
  ] as const) {
    it(`${type} ${form} ${M}x${N}x${K}: every family the same, close to float64`, async () => {
      const device = await testDevice();
      const rng = new Rng(seedKey(3));
      const host = Float32Array.from({ length: M * K }, () => rng.normal());
      const x = uploadTensor(device, "x", [M, K], host);
      const { w, values } = weights(device, type, form === "NT" ? N : K, form === "NT" ? K : N, rng);
      const want = reference(host, values, form, M, N, K);
      const own = await product(device, x, w, form, N);
      expectClose("own", own, want, 5e-6);
      const families: MatmulFamily[] = ["gemv", "direct", "workgroup"];
      if (device.caps.subgroupWidth > 0) families.push("subgroup");
      for (const family of families) expect(await product(device, x, w, form, N, family)).toEqual(own);
      release(device, x, w, w.scales);
    });
  }

  for (const type of ["f16", "i8"] as const) {
    for (const layout of ["out_in", "in_out"] as const) {
      it(`${type} ${layout}: linear with its epilogue, and the gradient of x`, async () => {
        const device = await testDevice();
        const rng = new Rng(seedKey(4));
        const [M, N, K] = [6, 64, 128];
        const draw = (n: number): Float32Array => Float32Array.from({ length: n }, () => rng.normal());
        const [hx, hdy, hres] = [draw(M * K), draw(M * N), draw(M * N)] as [Float32Array, Float32Array, Float32Array];
        const x = uploadTensor(device, "x", [M, K], hx);
        const dy = uploadTensor(device, "dy", [M, N], hdy);
        const residual = uploadTensor(device, "residual", [M, N], hres);
        const { w, values } = weights(device, type, layout === "out_in" ? N : K, layout === "out_in" ? K : N, rng);
        const plan = new PlanBuilder(device, "linear");
        const { out, saved } = linear.forward(plan, { x, w, residual }, { layout });
        plan.output("y", out.y);
        plan.output("dx", linear.backward(plan, saved, { y: dy }, {}).x as Tensor);
        const built = await plan.build();
        const got = await built.run({}, {});
        const form = layout === "out_in" ? "NT" : "NN";
        const y = reference(hx, values, form, M, N, K).map((v, i) => v + (hres[i] as number));
        expectClose("y", got.y as Float32Array, y, 5e-6);
        const dx = reference(hdy, values, layout === "out_in" ? "NN" : "NT", M, K, N);
        expectClose("dx", got.dx as Float32Array, dx, 5e-6);
        built.dispose();
        release(device, x, dy, residual, w, w.scales);
      });
    }

    it(`${type}: rows of an embedding, whole and in windows`, async () => {
      const device = await testDevice();
      const rng = new Rng(seedKey(5));
      const { w, values } = weights(device, type, 300, 64, rng);
      const ids = Uint32Array.of(0, 299, 7, 255, 256, 7);
      const at = uploadTensor(device, "ids", [6], ids);
      for (const windowBytes of [Number.POSITIVE_INFINITY, 128 * 64]) {
        const plan = new PlanBuilder(device, "embedding");
        plan.output("y", embedding.forward(plan, { ids: at, w }, { scale: 2, windowBytes }).out.y);
        const built = await plan.build();
        const { y } = await built.run({}, {});
        const want = Array.from(ids).flatMap((id) => Array.from(values.subarray(64 * id, 64 * id + 64), (v) => 2 * v));
        expect(Array.from(y as Float32Array)).toEqual(want.map(Math.fround));
        built.dispose();
      }
      release(device, at, w, w.scales);
    });
  }

  it("refuses i8 rows that are no whole blocks", async () => {
    const device = await testDevice();
    const plan = new PlanBuilder(device, "packed");
    const w: Tensor = { ...plan.temp([8, 32]), dtype: "i8", scales: plan.temp([8, 1]) };
    expect(() =>
      matmul(plan, { a: plan.temp([4, 32]), b: w, c: plan.temp([4, 8]), form: "NT", M: 4, N: 8, K: 32 }),
    ).toThrow("ShapeError[matmul.b]: expected (rows of whole blocks of 64, with a scale each), got (8,32). Pass f16");
  });
});
