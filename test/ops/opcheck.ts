import { describe, expect, it } from "#test";
import { Rng, seedKey } from "../../src/core/rng.ts";
import type { Capabilities } from "../../src/gpu/capabilities.ts";
import { Device } from "../../src/gpu/device.ts";
import { PlanBuilder } from "../../src/gpu/plan_builder.ts";
import { readBuffer, uploadTensor } from "../../src/gpu/readback.ts";
import type { Tensor } from "../../src/gpu/tensor.ts";
import type { Into, Op, Tensors } from "../../src/ops/op.ts";
import { openTestDevice } from "../runtime/gpu.ts";

/** A host array with its shape, in float64: what references compute on. */
export interface HostTensor {
  readonly shape: readonly number[];
  readonly data: Float64Array;
}

/** The operation in float64, written plainly: the oracle of forward and, by differences, of backward. */
export type Reference<Options> = (
  inputs: Readonly<Record<string, HostTensor>>,
  options: Options,
) => Record<string, HostTensor>;

/** One case: shapes get normal random numbers scaled by `scale`; typed arrays are passed as they are. */
export interface OpCase<Options> {
  readonly shapes: Readonly<Record<string, readonly number[]>>;
  /** Inputs with given values (ids, positions): no gradient unless listed as activation or parameter. */
  readonly data?: Readonly<Record<string, Float32Array | Uint32Array | Int32Array>>;
  readonly options?: Partial<Options>;
  readonly scale?: number;
  /** Replaces the check's tolerance where a case is harder, with the reason beside it. */
  readonly tolerance?: { forward?: number; backward?: number };
}

/** Inputs that must be refused, with the text the error must contain. */
export interface BadCase {
  readonly shapes: Readonly<Record<string, readonly number[]>>;
  readonly message: string | RegExp;
}

/** What `opcheck` verifies, and how closely. */
export interface OpCheck<Options> {
  readonly reference: Reference<Options>;
  readonly cases: readonly OpCase<Options>[];
  readonly bad?: readonly BadCase[];
  /** Capabilities to pretend, each running every case: kernels are chosen by them. Default: the device's own. */
  readonly variants?: readonly Partial<Capabilities>[];
  /** Bound on |got - want| / max(1, rms of want); default from the table below. */
  readonly tolerance?: { forward?: number; backward?: number };
}

/**
 * f32 sums of a few hundred products stay within some 1e-6 of float64; backward passes chain several such sums, and
 * the float64 central differences they are held against are exact to about 1e-7.
 */
const f32Tolerance = { forward: 5e-6, backward: 2e-5 };

/** At most this many entries of an input are differenced; they are drawn at random. */
const differencedEntries = 48;

let shared: Promise<Device> | undefined;

/** One device for all tests of a file. */
export function testDevice(): Promise<Device> {
  const opened = shared ?? openTestDevice();
  shared = opened;
  return opened;
}

/** The test device as if it had other capabilities, with its own pool and pipelines. */
export async function testDeviceWith(caps: Partial<Capabilities>): Promise<Device> {
  const device = await testDevice();
  if (Object.keys(caps).length === 0) return device;
  const key = JSON.stringify(caps);
  const known = pretended.get(key) ?? new Device(device.gpu, { ...device.caps, ...caps });
  pretended.set(key, known);
  return known;
}

const pretended = new Map<string, Device>();

type AnyOp<In extends Tensors<In>, Out extends Tensors<Out>, Saved, Options> = Op<In, Out, Saved, Options>;

/** Registers the tests of one operation: forward, gradients, accumulation, refusals, and no leaked buffers. */
export function opcheck<In extends Tensors<In>, Out extends Tensors<Out>, Saved, Options>(
  op: AnyOp<In, Out, Saved, Options>,
  check: OpCheck<Options>,
): void {
  describe(op.name, () => {
    for (const caps of check.variants ?? [{}]) {
      const suffix = Object.keys(caps).length === 0 ? "" : ` on ${JSON.stringify(caps)}`;
      for (const [index, c] of check.cases.entries()) {
        const shapes = Object.entries(c.shapes).map(([n, s]) => `${n}(${s.join(",")})`);
        it(`case ${index}: ${shapes.join(" ")} ${JSON.stringify(c.options ?? {})}${suffix}`, async () => {
          await checkCase(await testDeviceWith(caps), op, check, c, index);
        });
      }
    }
    for (const bad of check.bad ?? []) {
      it(`refuses ${JSON.stringify(bad.shapes)}`, async () => {
        const device = await testDevice();
        const plan = new PlanBuilder(device, op.name);
        const inputs: Record<string, Tensor> = {};
        for (const [name, shape] of Object.entries(bad.shapes)) inputs[name] = plan.temp(shape, name);
        expect(() => op.forward(plan, inputs as unknown as In)).toThrow(bad.message);
      });
    }
  });
}

async function checkCase<In extends Tensors<In>, Out extends Tensors<Out>, Saved, Options>(
  device: Device,
  op: AnyOp<In, Out, Saved, Options>,
  check: OpCheck<Options>,
  c: OpCase<Options>,
  index: number,
): Promise<void> {
  const before = device.pool.usage.buffers;
  const rng = new Rng(seedKey(1000 + index));
  const options = { ...op.defaults, ...c.options };
  const host = drawInputs(c, rng);
  const expected = check.reference(host, options);
  const dy: Record<string, HostTensor> = {};
  for (const [name, t] of Object.entries(expected)) dy[name] = drawNormal(t.shape, rng, 1);
  const got = await runOp(device, op, c, host, dy);
  const tolerance = { ...f32Tolerance, ...check.tolerance, ...c.tolerance };
  for (const [name, want] of Object.entries(expected)) {
    expectClose(`${op.name}.${name}`, got.out[name] as Float32Array, want.data, tolerance.forward);
  }
  const loss = (inputs: Record<string, HostTensor>): number => {
    const out = check.reference(inputs, options);
    let sum = 0;
    for (const [name, t] of Object.entries(out)) {
      const g = (dy[name] as HostTensor).data;
      for (let i = 0; i < g.length; i++) sum += (g[i] as number) * (t.data[i] as number);
    }
    return sum;
  };
  for (const name of [...op.parameters, ...op.activations]) {
    if (c.shapes[name] === undefined) continue;
    expectGradient(`${op.name}.d${name}`, host, name, loss, got.grads[name] as Float32Array, tolerance.backward, rng);
    expectAccumulated(`${op.name}.d${name} accumulated`, got.grads[name] as Float32Array, got.twice[name]);
  }
  expect(device.pool.usage.buffers).toBe(before);
}

function drawInputs<Options>(c: OpCase<Options>, rng: Rng): Record<string, HostTensor> {
  const host: Record<string, HostTensor> = {};
  for (const [name, shape] of Object.entries(c.shapes)) {
    const given = c.data?.[name];
    host[name] = given === undefined ? drawNormal(shape, rng, c.scale ?? 1) : { shape, data: Float64Array.from(given) };
  }
  return host;
}

function drawNormal(shape: readonly number[], rng: Rng, scale: number): HostTensor {
  const n = shape.reduce((a, b) => a * b, 1);
  return { shape, data: Float64Array.from({ length: n }, () => Math.fround(scale * rng.normal())) };
}

interface OpRun {
  out: Record<string, Float32Array>;
  grads: Record<string, Float32Array>;
  twice: Record<string, Float32Array>;
}

/** Runs forward, backward into fresh tensors, then backward twice more into given tensors (accumulation). */
async function runOp<In extends Tensors<In>, Out extends Tensors<Out>, Saved, Options>(
  device: Device,
  op: AnyOp<In, Out, Saved, Options>,
  c: OpCase<Options>,
  host: Record<string, HostTensor>,
  dy: Record<string, HostTensor>,
): Promise<OpRun> {
  const plan = new PlanBuilder(device, op.name);
  const lasting: Tensor[] = [];
  const upload = (name: string, shape: readonly number[], data: Float32Array | Uint32Array | Int32Array): Tensor => {
    const tensor = uploadTensor(device, name, shape, data);
    lasting.push(tensor);
    return tensor;
  };
  const inputs: Record<string, Tensor> = {};
  for (const [name, t] of Object.entries(host)) {
    inputs[name] = upload(name, t.shape, c.data?.[name] ?? Float32Array.from(t.data));
  }
  const { out, saved } = op.forward(plan, inputs as unknown as In, c.options);
  const grads: Record<string, Tensor> = {};
  for (const name of Object.keys(out)) {
    const g = dy[name] as HostTensor;
    grads[name] = upload(`d${name}`, g.shape, Float32Array.from(g.data));
    plan.output(`out.${name}`, (out as unknown as Record<string, Tensor>)[name] as Tensor);
  }
  const zeros = (name: string, label: string): Tensor => {
    const shape = (host[name] as HostTensor).shape;
    return upload(label, shape, new Float32Array(shape.reduce((a, b) => a * b, 1)));
  };
  const present = (names: readonly string[]): string[] => names.filter((n) => inputs[n] !== undefined);
  const into: Record<string, Tensor> = {};
  for (const name of present(op.parameters)) into[name] = zeros(name, `grad.${name}`);
  const fresh = op.backward(plan, saved, grads as unknown as Out, into as Into<In>);
  const twice: Record<string, Tensor> = {};
  for (const name of present([...op.parameters, ...op.activations])) twice[name] = zeros(name, `twice.${name}`);
  op.backward(plan, saved, grads as unknown as Out, twice as Into<In>);
  op.backward(plan, saved, grads as unknown as Out, twice as Into<In>);
  for (const name of present(op.activations)) {
    plan.output(`grad.${name}`, (fresh as Record<string, Tensor>)[name] as Tensor);
  }
  const built = await plan.build();
  const read = await built.run({}, {});
  const result: OpRun = { out: {}, grads: {}, twice: {} };
  for (const [key, data] of Object.entries(read)) {
    const [kind, name] = key.split(".") as ["out" | "grad", string];
    result[kind === "out" ? "out" : "grads"][name] = data as Float32Array;
  }
  for (const [name, t] of Object.entries(into)) result.grads[name] = await readTensor(device, t);
  for (const [name, t] of Object.entries(twice)) result.twice[name] = await readTensor(device, t);
  built.dispose();
  for (const t of lasting) if (t.storage.kind === "buffer") device.pool.release(t.storage.buffer);
  return result;
}

async function readTensor(device: Device, tensor: Tensor): Promise<Float32Array> {
  if (tensor.storage.kind !== "buffer") throw new Error("only lasting tensors are read here");
  const bytes = tensor.shape.reduce<number>((n, d) => n * (d as number), 4);
  return new Float32Array(await readBuffer(device, tensor.storage.buffer, tensor.offsetBytes, bytes));
}

function rms(values: ArrayLike<number>): number {
  let sum = 0;
  for (let i = 0; i < values.length; i++) sum += (values[i] as number) ** 2;
  return Math.sqrt(sum / Math.max(1, values.length));
}

/** Fails when any entry differs by more than tolerance * max(1, rms(want)). */
export function expectClose(what: string, got: ArrayLike<number>, want: ArrayLike<number>, tolerance: number): void {
  expect(`${what} length ${got.length}`).toBe(`${what} length ${want.length}`);
  const scale = Math.max(1, rms(want));
  let worst = 0;
  let at = -1;
  for (let i = 0; i < want.length; i++) {
    const error = Math.abs((got[i] as number) - (want[i] as number)) / scale;
    if (!(error <= worst)) {
      worst = error;
      at = i;
    }
  }
  const ok = worst <= tolerance;
  const detail = ok ? "" : ` worst ${worst} at ${at}: got ${got[at]}, want ${want[at]}`;
  expect(`${what} ${ok ? "close" : "off"}${detail}`).toBe(`${what} close`);
}

function expectGradient(
  what: string,
  host: Record<string, HostTensor>,
  name: string,
  loss: (inputs: Record<string, HostTensor>) => number,
  got: Float32Array,
  tolerance: number,
  rng: Rng,
): void {
  const input = host[name] as HostTensor;
  const indices = Array.from(input.data.keys());
  const chosen = indices.length <= differencedEntries ? indices : rng.shuffled(indices).slice(0, differencedEntries);
  const step = 1e-4;
  const want = chosen.map((i) => {
    const moved = (by: number): number => {
      const data = input.data.slice();
      data[i] = (data[i] as number) + by;
      return loss({ ...host, [name]: { shape: input.shape, data } });
    };
    // Fourth-order central difference: error O(step^4).
    return (8 * (moved(step) - moved(-step)) - (moved(2 * step) - moved(-2 * step))) / (12 * step);
  });
  const scale = Math.max(1, rms(got));
  expectClose(
    what,
    chosen.map((i) => (got[i] as number) / scale),
    want.map((w) => w / scale),
    tolerance,
  );
}

function expectAccumulated(what: string, once: Float32Array, twice: Float32Array | undefined): void {
  expectClose(
    what,
    twice ?? [],
    Array.from(once, (v) => 2 * v),
    1e-5,
  );
}
