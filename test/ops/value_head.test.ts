/**
 * Cases: values, loss and gradients against float64 and its differences, with and without the clip, several records on a
 * row and rows without; accumulation; weight 0 beside NaN; records fewer than planned; shapes that do not fit.
 */
import { describe, expect, it } from "#test";
import { Rng, seedKey } from "../../src/core/rng.ts";
import { PlanBuilder } from "../../src/gpu/plan_builder.ts";
import { uploadTensor } from "../../src/gpu/readback.ts";
import { recordIndexInputs } from "../../src/ops/record_index.ts";
import { backwardValueHead, valueHead } from "../../src/ops/value_head.ts";
import { expectClose, testDeviceWith } from "./opcheck.ts";

interface Case {
  T: number;
  C: number;
  h: number[];
  w: number[];
  b: number[];
  src: number[];
  weight: number[];
  oldValue: number[];
  returns: number[];
}

function drawCase(T: number, C: number, R: number): Case {
  const rng = new Rng(seedKey(5));
  const normals = (n: number): number[] => Array.from({ length: n }, () => Math.fround(rng.normal()));
  return {
    ...{ T, C, h: normals(T * C), w: normals(C), b: normals(1) },
    src: Array.from({ length: R }, () => rng.below(T)),
    weight: Array.from({ length: R }, () => Math.fround(0.2 + rng.uniform())),
    oldValue: normals(R),
    returns: normals(R),
  };
}

function statsOf(c: Case, range: number): number[] {
  return c.src.flatMap((row, r) => {
    let v = c.b[0] as number;
    for (let i = 0; i < c.C; i++) v += (c.h[row * c.C + i] as number) * (c.w[i] as number);
    const [weight, old, target] = [c.weight[r], c.oldValue[r], c.returns[r]] as [number, number, number];
    if (weight === 0) return [v, 0, 0, 0];
    const limited = range === 0 ? v : Math.min(Math.max(v, old - range), old + range);
    const [plain, bounded] = [v - target, limited - target];
    const clipped = bounded ** 2 > plain ** 2;
    const slope = clipped && limited !== v ? 0 : plain;
    return [v, (weight * Math.max(plain ** 2, bounded ** 2)) / 2, clipped ? 1 : 0, weight * slope];
  });
}

function differences(c: Case, range: number, name: "h" | "w" | "b"): number[] {
  const total = (data: number[]): number =>
    statsOf({ ...c, [name]: data }, range).reduce((sum, v, i) => sum + (i % 4 === 1 ? v : 0), 0);
  return c[name].map((_, i) => {
    const moved = (by: number): number => total(c[name].map((v, k) => (k === i ? v + by : v)));
    return (moved(1e-5) - moved(-1e-5)) / 2e-5;
  });
}

async function compute(c: Case, range: number, caps: { deviceClass?: "software" | "gpu" }, spare = 0) {
  const device = await testDeviceWith(caps);
  const plan = new PlanBuilder(device, "value_head");
  const T = plan.dim("T", c.T + spare);
  const R = plan.dim("R", c.src.length + spare);
  const upload = (name: string, shape: number[], data: number[]) =>
    uploadTensor(device, name, shape, Float32Array.from(data));
  const fixed = {
    w: upload("w", [1, c.C], c.w),
    bias: upload("b", [1], c.b),
    dw: upload(
      "dw",
      [1, c.C],
      c.w.map(() => 10),
    ),
    db: upload("db", [1], [10]),
  };
  const inputs = {
    ...{ h: plan.input("h", [T, c.C]), w: fixed.w, bias: fixed.bias, src: plan.input("src", [R], "u32") },
    ...{
      weight: plan.input("weight", [R]),
      oldValue: plan.input("oldValue", [R]),
      returns: plan.input("returns", [R]),
    },
  };
  const stats = valueHead(plan, inputs);
  const dh = backwardValueHead(plan, inputs, stats, { w: fixed.dw, bias: fixed.db });
  for (const [name, tensor] of Object.entries({ stats, dh, dw: fixed.dw, db: fixed.db })) plan.output(name, tensor);
  const built = await plan.build();
  const f32 = (values: number[]): Float32Array => Float32Array.from(values);
  const read = await built.run(
    { T: c.T, R: c.src.length, "value.clip_range": range },
    {
      ...{ h: f32(c.h), src: Uint32Array.from(c.src), weight: f32(c.weight) },
      ...{ oldValue: f32(c.oldValue), returns: f32(c.returns), ...recordIndexInputs(c.src, c.T) },
    },
  );
  built.dispose();
  for (const t of Object.values(fixed)) if (t.storage.kind === "buffer") device.pool.release(t.storage.buffer);
  return read as Record<"stats" | "dh" | "dw" | "db", Float32Array>;
}

describe("value head", () => {
  for (const deviceClass of ["software", "gpu"] as const) {
    for (const range of [0, 0.5]) {
      for (const [T, C, R] of [
        [1, 1, 1],
        [9, 6, 24],
        [5, 70, 3],
      ] as const) {
        it(`equals float64 and its differences: T ${T}, C ${C}, R ${R}, range ${range} on ${deviceClass}`, async () => {
          const c = drawCase(T, C, R);
          const got = await compute(c, range, { deviceClass }, 3);
          expectClose("stats", got.stats, statsOf(c, range), 1e-5);
          expectClose("dh", got.dh, differences(c, range, "h"), 2e-5);
          expectClose(
            "dw",
            got.dw,
            differences(c, range, "w").map((v) => v + 10),
            2e-5,
          );
          expectClose(
            "db",
            got.db,
            differences(c, range, "b").map((v) => v + 10),
            2e-5,
          );
          if (range > 0 && R > 20)
            expect(statsOf(c, range).filter((v, i) => i % 4 === 2 && v === 1).length).toBeGreaterThan(3);
        });
      }
    }
  }

  it("a record of weight 0 adds exactly nothing, even when its other numbers are NaN", async () => {
    const c = drawCase(6, 8, 10);
    const weight = c.weight.map((v, r) => (r % 3 === 0 ? 0 : v));
    const spoil = (values: number[]): number[] => values.map((v, r) => (r % 3 === 0 ? Number.NaN : v));
    const clean = await compute({ ...c, weight }, 0.5, {});
    const got = await compute({ ...c, weight, oldValue: spoil(c.oldValue), returns: spoil(c.returns) }, 0.5, {});
    expect(got).toEqual(clean);
    expect(got.dw.every(Number.isFinite)).toBe(true);
  });

  it("NaN in a return that counts is seen in loss and gradient", async () => {
    const c = drawCase(4, 8, 5);
    c.returns[2] = Number.NaN;
    const got = await compute(c, 0, {});
    expect(got.stats[2 * 4 + 1]).toBeNaN();
    expect(got.dw.every(Number.isNaN)).toBe(true);
  });

  it("refuses shapes that do not fit", async () => {
    const plan = new PlanBuilder(await testDeviceWith({}), "value_head");
    const t = (...shape: number[]) => plan.temp(shape, "t");
    const good = { h: t(6, 8), w: t(1, 8), bias: t(1), src: t(10), weight: t(10), oldValue: t(10), returns: t(10) };
    expect(() => valueHead(plan, { ...good, w: t(1, 7) })).toThrow(
      "ShapeError[value_head.w]: expected (1,8), got (1,7).",
    );
    expect(() => valueHead(plan, { ...good, returns: t(9) })).toThrow("ShapeError[value_head.returns]");
  });
});
