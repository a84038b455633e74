import { describe, expect, it } from "#test";
import { PlanBuilder } from "../../src/gpu/plan_builder.ts";
import { uploadTensor } from "../../src/gpu/readback.ts";
import { type ActivationOptions, activation } from "../../src/ops/activation.ts";
import { type HostTensor, opcheck, testDevice } from "./opcheck.ts";

/** erf by its Taylor series below 3 and the continued fraction of erfc above: both to float64 rounding. */
function erf(x: number): number {
  const z = Math.abs(x);
  let value: number;
  if (z < 3) {
    let term = z;
    value = z;
    for (let n = 1; Math.abs(term) > 1e-18; n++) {
      term *= -(z * z) / n;
      value += term / (2 * n + 1);
    }
    value *= 2 / Math.sqrt(Math.PI);
  } else {
    let fraction = 0;
    for (let n = 60; n >= 1; n--) fraction = n / 2 / (z + fraction);
    value = 1 - Math.exp(-z * z) / Math.sqrt(Math.PI) / (z + fraction);
  }
  return x < 0 ? -value : value;
}

const functions: Record<string, (v: number) => number> = {
  silu: (v) => v / (1 + Math.exp(-v)),
  gelu: (v) => 0.5 * v * (1 + erf(v / Math.SQRT2)),
  gelu_tanh: (v) => 0.5 * v * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (v + 0.044715 * v ** 3))),
};

function reference(inputs: Readonly<Record<string, HostTensor>>, o: ActivationOptions): Record<string, HostTensor> {
  const { x } = inputs as Record<"x", HostTensor>;
  const f = functions[o.kind] as (v: number) => number;
  const [rows = 0, cols = 0] = x.shape;
  const width = o.gated ? cols / 2 : cols;
  const y = new Float64Array(rows * width);
  for (let i = 0; i < y.length; i++) {
    const row = Math.floor(i / width);
    const at = row * cols + (i % width);
    y[i] = f(x.data[at] as number) * (o.gated ? (x.data[at + width] as number) : 1);
  }
  return { y: { shape: [rows, width], data: y } };
}

const kinds = ["silu", "gelu", "gelu_tanh"] as const;

opcheck(activation, {
  reference,
  variants: [{ deviceClass: "software" }, { deviceClass: "gpu" }],
  cases: kinds.flatMap((kind) => [
    { shapes: { x: [1, 1] }, options: { kind } },
    { shapes: { x: [7, 333] }, options: { kind }, scale: 3 },
    { shapes: { x: [1, 2] }, options: { kind, gated: true } },
    { shapes: { x: [5, 1030] }, options: { kind, gated: true }, scale: 3 },
    { shapes: { x: [3, 65] }, options: { kind }, scale: 1e-3 },
    { shapes: { x: [23, 332] }, options: { kind } },
    { shapes: { x: [9, 1048] }, options: { kind, gated: true } },
  ]),
  // Outputs reach 10 at scale 3, and rms normalises by less than that.
  tolerance: { forward: 2e-6, backward: 2e-5 },
  bad: [{ shapes: { x: [2, 3, 4] }, message: "ShapeError[activation.x]: expected (rows,F), got (2,3,4)." }],
});

describe("activation", () => {
  for (const kind of kinds) {
    it(`${kind} is within 1e-6 of float64 everywhere, and makes no NaN but of NaN`, async () => {
      const device = await testDevice();
      const plan = new PlanBuilder(device, "activation");
      const near = Array.from({ length: 4001 }, (_, i) => (i - 2000) / 200);
      const x = Float32Array.from([...near, -1e30, -1e4, -100, -50, 50, 100, 1e4, 1e30, 0, -0, Number.NaN]);
      const input = uploadTensor(device, "x", [1, x.length], x);
      const ones = uploadTensor(device, "dy", [1, x.length], new Float32Array(x.length).fill(1));
      const { out, saved } = activation.forward(plan, { x: input }, { kind });
      plan.output("y", out.y);
      plan.output("dx", activation.backward(plan, saved, { y: ones }, {}).x as typeof input);
      const built = await plan.build();
      const { y, dx } = (await built.run({}, {})) as Record<"y" | "dx", Float32Array>;
      const f = functions[kind] as (v: number) => number;
      let worst = 0;
      expect(y.at(-1)).toBeNaN();
      for (const [i, v] of x.subarray(0, -1).entries()) {
        const far = Math.abs(v) > 20;
        const value = far ? Math.max(v, 0) : f(v);
        const slope = far ? (v > 0 ? 1 : 0) : (f(v + 1e-4) - f(v - 1e-4)) / 2e-4;
        const errors = [
          Math.abs((y[i] as number) - value) / Math.max(1, Math.abs(v)),
          Math.abs((dx[i] as number) - slope),
        ];
        worst = Math.max(worst, ...errors.map((e) => (Number.isNaN(e) ? Number.POSITIVE_INFINITY : e)));
      }
      expect(worst).toBeLessThan(1e-6);
      built.dispose();
      for (const t of [input, ones]) if (t.storage.kind === "buffer") device.pool.release(t.storage.buffer);
    });
  }

  it("refuses [gate | up] of odd width", async () => {
    const plan = new PlanBuilder(await testDevice(), "activation");
    expect(() => activation.forward(plan, { x: plan.temp([2, 7]) }, { gated: true })).toThrow(
      "ShapeError[activation.x]: expected (rows,2F), got (2,7).",
    );
  });
});
