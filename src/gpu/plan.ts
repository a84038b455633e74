import { elementBytes } from "../core/dtype.ts";
import { DeviceError } from "../core/errors.ts";
import { alignUp } from "../core/shape.ts";
import type { Device } from "./device.ts";
import { dimValue, type PlanValues, type Workgroups } from "./plan_values.ts";
import type { PoolBuffer } from "./pool.ts";
import type { DispatchWork, Profiler } from "./profiler.ts";
import { Readback, type ReadbackSource, typedView } from "./readback.ts";
import type { DynDim, Tensor } from "./tensor.ts";
import { scalarBytes, type UniformScalar, Uniforms } from "./uniforms.ts";

/** One compiled dispatch of a plan. */
export interface PlanStep {
  readonly label: string;
  readonly pipeline: GPUComputePipeline;
  readonly bindGroup: GPUBindGroup;
  readonly uniformOffset: number;
  readonly scalars: readonly UniformScalar[];
  readonly workgroups: Workgroups;
  readonly work: ((values: PlanValues) => DispatchWork) | undefined;
  /** Everything bound but the uniforms. */
  readonly tensors: readonly Tensor[];
}

/** Everything a plan owns; made by PlanBuilder. */
export interface PlanParts {
  readonly device: Device;
  readonly label: string;
  readonly steps: readonly PlanStep[];
  readonly cuts: readonly number[];
  readonly uniform: PoolBuffer;
  readonly inputs: ReadonlyMap<string, Tensor>;
  readonly outputs: ReadonlyMap<string, { tensor: Tensor; buffer: PoolBuffer; offset: number }>;
  readonly dynamic: readonly DynDim[];
  readonly scalars: readonly string[];
  readonly owned: readonly PoolBuffer[];
  readonly arenaBytes: number;
  /** Every dispatch is submitted on its own. */
  readonly naive: boolean;
}

/** Host data of a plan's inputs by name; shorter than the tensor is fine when its first axis is dynamic. */
export type PlanInputs = Readonly<Record<string, Float32Array | Uint32Array | Int32Array>>;

/** Data read back, by output name, cut to the replay's sizes. */
export type PlanOutputs = Record<string, Float32Array | Uint32Array | Int32Array>;

/** How to replay. */
export interface RunOptions {
  /** Submit each quantum on its own and wait for it, calling `between` after each but the last. */
  split?: boolean;
  between?: () => Promise<void>;
  /** Outputs to read back; default all. */
  read?: readonly string[];
}

/** A recorded list of dispatches that is replayed with new sizes, numbers and inputs. */
export class Plan {
  readonly label: string;
  readonly arenaBytes: number;
  private readonly parts: PlanParts;
  private readonly uniforms: Uniforms;
  private readonly readback: Readback;
  private disposed = false;

  constructor(parts: PlanParts) {
    this.parts = parts;
    this.label = parts.label;
    this.arenaBytes = parts.arenaBytes;
    this.uniforms = new Uniforms(parts.device, parts.uniform);
    this.readback = new Readback(parts.device);
  }

  /** Number of dispatches recorded. */
  get dispatchCount(): number {
    return this.parts.steps.length;
  }

  /** Number of dispatches that a replay with these sizes runs. */
  dispatchesAt(values: PlanValues): number {
    return this.parts.steps.filter((step) => !groupsOf(step, values).includes(0)).length;
  }

  /**
   * Replays the plan once and reads its outputs back.
   * @throws DeviceError on a missing or too large size, and on any fault of the device.
   */
  async run(values: PlanValues, inputs: PlanInputs, options: RunOptions = {}): Promise<PlanOutputs> {
    const { device } = this.parts;
    device.throwFault();
    this.checkValues(values);
    this.writeScalars(values);
    for (const [name, data] of Object.entries(inputs)) this.writeInput(name, data);
    const quanta = options.split === true ? this.quanta() : [[0, this.parts.steps.length] as const];
    const wanted = options.read ?? [...this.parts.outputs.keys()];
    if (device.profiler !== null) await this.runEach(device.profiler, values);
    for (const [index, [from, to]] of quanta.entries()) {
      const last = index === quanta.length - 1;
      this.submit(device.profiler === null ? from : to, to, values, last ? wanted : []);
      if (last) break;
      await device.idle();
      await options.between?.();
    }
    const read = await this.readback.collect();
    device.throwFault();
    return this.shapeOutputs(wanted, read, values);
  }

  /**
   * Replays the plan once for each of `series` in one submit, with the same inputs, and reads its outputs back at the
   * end, cut to the last one's sizes. @throws DeviceError as `run`
   */
  async runSeries(series: readonly PlanValues[], inputs: PlanInputs): Promise<PlanOutputs> {
    const { device, steps, outputs } = this.parts;
    const last = series.at(-1);
    const apart = this.parts.naive || device.profiler !== null;
    if (series.length === 1 || apart || last === undefined) return this.runEachOf(series, inputs);
    device.throwFault();
    for (const values of series) this.checkValues(values);
    for (const [name, data] of Object.entries(inputs)) this.writeInput(name, data);
    const encoder = device.gpu.createCommandEncoder({ label: this.label });
    const uniforms = this.uniforms.upload(series.map((values) => this.scalarsAt(values)));
    for (const [i, values] of series.entries()) {
      this.uniforms.encode(encoder, uniforms, i);
      this.encodePass(encoder, 0, steps.length, values);
    }
    const wanted = [...outputs.keys()];
    this.encodeReadback(encoder, wanted, last);
    device.submit(encoder);
    const read = await this.readback.collect();
    device.throwFault();
    return this.shapeOutputs(wanted, read, last);
  }

  /** One submit for each. */
  private async runEachOf(series: readonly PlanValues[], inputs: PlanInputs): Promise<PlanOutputs> {
    let out: PlanOutputs = {};
    for (const [i, values] of series.entries()) out = await this.run(values, i === 0 ? inputs : {});
    return out;
  }

  /** Replays without reading anything back; the queue runs it in order. */
  enqueue(values: PlanValues, inputs: PlanInputs): void {
    this.checkValues(values);
    this.writeScalars(values);
    for (const [name, data] of Object.entries(inputs)) this.writeInput(name, data);
    this.submit(0, this.parts.steps.length, values, []);
  }

  /** Releases every buffer the plan owns. */
  dispose(): void {
    if (this.disposed) return;
    this.disposed = true;
    for (const buffer of this.parts.owned) this.parts.device.pool.release(buffer);
    this.readback.dispose();
    this.uniforms.dispose();
  }

  /** Runs each dispatch on its own, for a profile. */
  private async runEach(profiler: Profiler, values: PlanValues): Promise<void> {
    for (const [i, step] of this.parts.steps.entries()) {
      if (groupsOf(step, values).includes(0)) continue;
      const start = profiler.nowMs();
      this.submit(i, i + 1, values, []);
      await this.parts.device.idle();
      const ms = profiler.nowMs() - start;
      const bytes = step.tensors.reduce((n, tensor) => n + this.bytesOf(tensor, values), 0);
      profiler.record({ flops: 0, shape: "", ...step.work?.(values), label: step.label, ms, bytes });
    }
  }

  private quanta(): (readonly [number, number])[] {
    const ends = [...new Set([...this.parts.cuts, this.parts.steps.length])];
    return ends.map((end, i) => [i === 0 ? 0 : (ends[i - 1] as number), end] as const);
  }

  private submit(from: number, to: number, values: PlanValues, read: readonly string[]): void {
    if (this.parts.naive && to - from > 1) {
      for (let i = from; i < to; i++) this.submit(i, i + 1, values, i === to - 1 ? read : []);
      return;
    }
    const encoder = this.parts.device.gpu.createCommandEncoder({ label: this.label });
    this.encodePass(encoder, from, to, values);
    this.encodeReadback(encoder, read, values);
    this.parts.device.submit(encoder);
  }

  private encodePass(encoder: GPUCommandEncoder, from: number, to: number, values: PlanValues): void {
    const { device, steps } = this.parts;
    const pass = encoder.beginComputePass();
    for (let i = from; i < to; i++) {
      const step = steps[i] as PlanStep;
      const [x = 1, y = 1, z = 1] = groupsOf(step, values);
      if (x === 0 || y === 0 || z === 0) continue;
      device.counters.dispatches++;
      pass.setPipeline(step.pipeline);
      pass.setBindGroup(0, step.bindGroup);
      pass.dispatchWorkgroups(x, y, z);
    }
    pass.end();
  }

  private encodeReadback(encoder: GPUCommandEncoder, read: readonly string[], values: PlanValues): void {
    const sources: ReadbackSource[] = read.map((name) => {
      const output = this.parts.outputs.get(name);
      if (output === undefined) throw unknownName(this.label, "output", name);
      return { buffer: output.buffer, offset: output.offset, bytes: this.bytesOf(output.tensor, values) };
    });
    this.readback.encode(encoder, sources);
  }

  /** Bytes of a tensor at a replay. */
  private bytesOf(tensor: Tensor, values: PlanValues): number {
    return tensor.shape.reduce<number>((n, d) => n * dimValue(d, values), elementBytes[tensor.dtype]);
  }

  private shapeOutputs(names: readonly string[], read: readonly ArrayBuffer[], values: PlanValues): PlanOutputs {
    const out: PlanOutputs = {};
    for (const [i, name] of names.entries()) {
      const tensor = (this.parts.outputs.get(name) as { tensor: Tensor }).tensor;
      out[name] = typedView(tensor.dtype, read[i] as ArrayBuffer, this.bytesOf(tensor, values));
    }
    return out;
  }

  private writeScalars(values: PlanValues): void {
    this.uniforms.write(this.scalarsAt(values));
  }

  private scalarsAt(values: PlanValues): ArrayBuffer {
    return scalarBytes(this.parts.steps, values, this.parts.uniform.bytes);
  }

  private writeInput(name: string, data: Float32Array | Uint32Array | Int32Array): void {
    const tensor = this.parts.inputs.get(name);
    if (tensor === undefined || tensor.storage.kind !== "buffer") throw unknownName(this.label, "input", name);
    if (data.byteLength > alignUp(tensor.storage.buffer.bytes, 16)) {
      throw new DeviceError(
        "device_validation",
        `Plan "${this.label}" got ${data.byteLength} bytes for input "${name}" which holds ${tensor.storage.buffer.bytes}.`,
        { do: "Build the plan for larger sizes, or split the work." },
      );
    }
    // Deno 2.9 panics on a write of no bytes.
    if (data.byteLength === 0) return;
    this.parts.device.gpu.queue.writeBuffer(
      tensor.storage.buffer.gpu,
      tensor.offsetBytes,
      data.buffer as ArrayBuffer,
      data.byteOffset,
      data.byteLength,
    );
  }

  private checkValues(values: PlanValues): void {
    for (const dim of this.parts.dynamic) {
      const value = values[dim.name];
      if (value === undefined || value < 0 || value > dim.max) {
        throw new DeviceError(
          "device_validation",
          `Plan "${this.label}" needs ${dim.name} in 0..${dim.max}, got ${value ?? "nothing"}.`,
          { do: "Build the plan for larger sizes, or split the work." },
        );
      }
    }
    for (const name of this.parts.scalars) {
      if (values[name] === undefined) throw unknownName(this.label, "value", name);
    }
  }
}

function groupsOf({ workgroups }: PlanStep, values: PlanValues): readonly number[] {
  return typeof workgroups === "function" ? workgroups(values) : workgroups;
}

function unknownName(plan: string, kind: string, name: string): DeviceError {
  return new DeviceError("device_validation", `Plan "${plan}" has no ${kind} "${name}", or it was not given.`, {
    do: "Pass the names the plan was built with.",
  });
}
