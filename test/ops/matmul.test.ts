// Plan: every family and form against float64 at edges of tiles, vectors and k; families and numbers of rows agree bit
// for bit; epilogues; sizes given at replay; nothing outside the product is read or written; temporaries; refusals.
import { describe, expect, it } from "#test";
import { Rng, seedKey } from "../../src/core/rng.ts";
import type { Device } from "../../src/gpu/device.ts";
import { PlanBuilder } from "../../src/gpu/plan_builder.ts";
import type { PlanValues } from "../../src/gpu/plan_values.ts";
import { readBuffer, uploadTensor } from "../../src/gpu/readback.ts";
import type { Tensor } from "../../src/gpu/tensor.ts";
import { matmul } from "../../src/ops/matmul/matmul.ts";
import type { Extent, MatmulFamily, MatmulForm } from "../../src/ops/matmul/problem.ts";
import { expectClose, testDevice } from "./opcheck.ts";

const forms: readonly MatmulForm[] = ["NN", "NT", "TN"];

interface Sizes {
  readonly m: number;
  readonly n: number;
  readonly k: number;
}

/** Operands on the host; `guard` numbers after c must stay as they were. */
interface Case extends Sizes {
  readonly form: MatmulForm;
  readonly a: Float32Array;
  readonly b: Float32Array;
  readonly c: Float32Array;
  readonly bias: Float32Array;
  readonly residual: Float32Array;
}

interface Epilogue {
  readonly accumulate?: boolean;
  readonly bias?: boolean;
  readonly residual?: boolean;
}

const guard = 8;
const sentinel = 12345;

function normal(n: number, rng: Rng): Float32Array {
  return Float32Array.from({ length: n }, () => rng.normal());
}

function draw(form: MatmulForm, { m, n, k }: Sizes, seed = 7): Case {
  const rng = new Rng(seedKey(seed));
  const c = new Float32Array(m * n + guard).fill(sentinel);
  c.set(normal(m * n, rng));
  return {
    form,
    m,
    n,
    k,
    a: normal(m * k, rng),
    b: normal(k * n, rng),
    c,
    bias: normal(n, rng),
    residual: normal(m * n, rng),
  };
}

/** The product in float64. */
function reference(x: Case, epilogue: Epilogue): Float64Array {
  const out = new Float64Array(x.m * x.n);
  for (let i = 0; i < x.m; i++) {
    for (let j = 0; j < x.n; j++) {
      let sum = epilogue.accumulate ? (x.c[i * x.n + j] as number) : 0;
      if (epilogue.bias) sum += x.bias[j] as number;
      if (epilogue.residual) sum += x.residual[i * x.n + j] as number;
      for (let q = 0; q < x.k; q++) {
        const a = x.form === "TN" ? x.a[q * x.m + i] : x.a[i * x.k + q];
        const b = x.form === "NT" ? x.b[j * x.k + q] : x.b[q * x.n + j];
        sum += (a as number) * (b as number);
      }
      out[i * x.n + j] = sum;
    }
  }
  return out;
}

/** Runs one product. `extents` replaces M or K by sizes given in `values`. */
async function run(
  device: Device,
  x: Case,
  options: Epilogue & { families?: readonly MatmulFamily[] } = {},
  extents: { M?: Extent; K?: Extent } = {},
  values: PlanValues = {},
): Promise<Float32Array> {
  const lasting: Tensor[] = [];
  const upload = (name: string, data: Float32Array): Tensor => {
    lasting.push(uploadTensor(device, name, [data.length], data));
    return lasting.at(-1) as Tensor;
  };
  const [a, b, c] = [upload("a", x.a), upload("b", x.b), upload("c", x.c)];
  const plan = new PlanBuilder(device, "matmul");
  for (const extent of [extents.M, extents.K]) {
    if (typeof extent === "object" && extent.kind === "dyn") plan.dim(extent.name, extent.max);
  }
  matmul(plan, {
    a,
    b,
    c,
    form: x.form,
    M: extents.M ?? x.m,
    N: x.n,
    K: extents.K ?? x.k,
    accumulate: options.accumulate,
    bias: options.bias ? upload("bias", x.bias) : undefined,
    residual: options.residual ? upload("residual", x.residual) : undefined,
    families: options.families,
  });
  const built = await plan.build();
  await built.run(values, {});
  if (c.storage.kind !== "buffer") throw new Error("c is a lasting tensor");
  const out = new Float32Array(await readBuffer(device, c.storage.buffer, 0, x.c.byteLength));
  built.dispose();
  for (const t of lasting) if (t.storage.kind === "buffer") device.pool.release(t.storage.buffer);
  return out;
}

function expectProduct(what: string, got: Float32Array, x: Case, epilogue: Epilogue): void {
  expectClose(what, got.subarray(0, x.m * x.n), reference(x, epilogue), 5e-6);
  expect(Array.from(got.subarray(x.m * x.n))).toEqual(new Array(guard).fill(sentinel));
}

async function familiesOf(form: MatmulForm): Promise<MatmulFamily[]> {
  const device = await testDevice();
  const all: MatmulFamily[] = ["direct", "workgroup", "workgroup_64x64", "workgroup_128x64"];
  if (device.caps.subgroupWidth > 0) all.push("subgroup");
  if (form !== "TN") all.push("gemv");
  return all;
}

/** Tiles left part empty in both directions, one element, k shorter than a step, and lengths no vec4 divides. */
const sizes: readonly Sizes[] = [
  { m: 1, n: 1, k: 1 },
  { m: 37, n: 44, k: 20 },
  { m: 37, n: 21, k: 19 },
  { m: 8, n: 68, k: 3 },
  { m: 65, n: 6, k: 8 },
];

describe("matmul", () => {
  for (const form of forms) {
    it(`${form}: every family is right, and equal to the others bit for bit`, async () => {
      const device = await testDevice();
      for (const [i, size] of sizes.entries()) {
        const x = draw(form, size, i);
        const results: Float32Array[] = [];
        for (const family of await familiesOf(form)) {
          const got = await run(device, x, { families: [family] });
          expectProduct(`${family} ${form} ${JSON.stringify(size)}`, got, x, {});
          results.push(got);
        }
        for (const other of results.slice(1)) expect(other).toEqual(results[0]);
      }
    });
  }

  it("adds bias and residual, and onto c", async () => {
    const device = await testDevice();
    const all = { bias: true, residual: true, accumulate: true };
    const allFamilies = await familiesOf("NT");
    for (const [size, epilogue, families] of [
      [{ m: 33, n: 36, k: 12 }, all, allFamilies],
      [{ m: 5, n: 7, k: 9 }, all, allFamilies],
      [{ m: 33, n: 36, k: 12 }, { bias: true }, ["gemv", "workgroup"]],
      [{ m: 33, n: 36, k: 12 }, { residual: true }, ["gemv", "workgroup"]],
    ] as const) {
      const x = draw("NT", size);
      const results: Float32Array[] = [];
      for (const family of families) {
        const got = await run(device, x, { ...epilogue, families: [family] });
        expectProduct(`${family} ${JSON.stringify(epilogue)}`, got, x, epilogue);
        results.push(got);
      }
      for (const other of results.slice(1)) expect(other).toEqual(results[0]);
    }
  });

  it("gives a row the same bits whatever the number of rows", async () => {
    const device = await testDevice();
    for (const form of ["NN", "NT"] as const) {
      const n = 36;
      const k = 72;
      const whole = draw(form, { m: 37, n, k });
      const all = await run(device, whole);
      for (const [first, m] of [
        [0, 1],
        [36, 1],
        [3, 2],
        [20, 17],
      ] as const) {
        const part = { ...whole, m, a: whole.a.slice(first * k, (first + m) * k), c: whole.c.slice(0, m * n) };
        expect(await run(device, part)).toEqual(all.slice(first * n, (first + m) * n));
      }
    }
  });
});

describe("matmul with sizes given at replay", () => {
  it("runs the bucket that fits, and writes no row past M", async () => {
    const device = await testDevice();
    const whole = draw("NT", { m: 40, n: 20, k: 24 });
    const rows = { kind: "dyn", name: "T", max: 40 } as const;
    const all = await run(device, whole);
    for (const T of [1, 2, 9, 17, 40]) {
      const got = await run(device, whole, {}, { M: rows }, { T });
      expect(got.slice(0, T * 20)).toEqual(all.slice(0, T * 20));
      expect(got.slice(T * 20)).toEqual(whole.c.slice(T * 20));
    }
    expect(await run(device, whole, {}, { M: rows }, { T: 0 })).toEqual(whole.c);
  });

  it("takes a number of rows computed from the replay's sizes", async () => {
    const device = await testDevice();
    const x = draw("NN", { m: 6, n: 8, k: 8 });
    const M: Extent = { kind: "computed", max: 6, value: (v) => (v.T as number) - 10 };
    const plan = await run(device, x, {}, { M }, { T: 14 });
    expect(plan.slice(0, 32)).toEqual((await run(device, x)).slice(0, 32));
    expect(plan.slice(32)).toEqual(x.c.slice(32));
  });

  it("sums over a dynamic k and reads nothing past it", async () => {
    const device = await testDevice();
    const most = 70;
    const K = { kind: "dyn", name: "T", max: most } as const;
    for (const T of [0, 1, 33, 66]) {
      const x = draw("TN", { m: 12, n: 20, k: most });
      for (let i = T * 12; i < x.a.length; i++) x.a[i] = Number.NaN;
      for (let i = T * 20; i < x.b.length; i++) x.b[i] = Number.NaN;
      for (const families of [undefined, ["direct"], ["workgroup"]] as const) {
        const got = await run(device, x, { accumulate: true, families }, { K }, { T });
        expectProduct(`k=${T}`, got, { ...x, k: T }, { accumulate: true });
      }
    }
  });
});

describe("matmul of temporaries", () => {
  it("reads and writes one arena", async () => {
    const device = await testDevice();
    const x = draw("NT", { m: 33, n: 20, k: 8 });
    const square = draw("NN", { m: 33, n: 20, k: 20 }, 8);
    const lasting = [x.a, x.b, square.b].map((data, i) => uploadTensor(device, `operand${i}`, [data.length], data));
    const [a, b, w] = lasting as [Tensor, Tensor, Tensor];
    const plan = new PlanBuilder(device, "matmul");
    const [first, copy, second] = [plan.temp([33, 20]), plan.temp([33, 20]), plan.temp([33, 20])];
    for (const c of [first, copy]) matmul(plan, { a, b, c, form: "NT", M: 33, N: 20, K: 8 });
    matmul(plan, { a: first, b: w, c: second, form: "NN", M: 33, N: 20, K: 20, residual: copy });
    plan.output("second", second);
    const built = await plan.build();
    const { second: got } = await built.run({}, {});
    const middle = Float32Array.from(reference(x, {}));
    const want = reference({ ...square, a: middle, residual: middle }, { residual: true });
    expectClose("second", got as Float32Array, want, 5e-6);
    built.dispose();
    for (const t of lasting) if (t.storage.kind === "buffer") device.pool.release(t.storage.buffer);
  });
});

describe("matmul refuses", () => {
  it("operands too small for their part", async () => {
    const plan = new PlanBuilder(await testDevice(), "matmul");
    const [a, b, c] = [plan.temp([4, 8], "a"), plan.temp([6, 8], "b"), plan.temp([4, 6], "c")];
    const sizes = { form: "NT", M: 4, N: 6, K: 8 } as const;
    expect(() => matmul(plan, { a, b: c, c, ...sizes })).toThrow(
      "ShapeError[matmul.b]: expected (8 x 6), got (4,6). Pass tensors that hold the product's operands.",
    );
    expect(() => matmul(plan, { a, b, c: b, ...sizes, M: 16 })).toThrow("ShapeError[matmul.a]: expected (16 x 8)");
    expect(() => matmul(plan, { a, b, c, ...sizes, bias: plan.temp([5]) })).toThrow("ShapeError[matmul.bias]");
  });
});
