import type { Device } from "../gpu/device.ts";
import type { PlanBuilder } from "../gpu/plan_builder.ts";
import type { PoolBuffer } from "../gpu/pool.ts";
import { readBuffer } from "../gpu/readback.ts";
import { bufferTensor, type Tensor } from "../gpu/tensor.ts";
import { tensorUsage } from "../gpu/usage.ts";
import { HostTensors } from "../model/host_tensors.ts";
import { PackedTensors, type ParameterReader, type TensorSink } from "../model/packed_tensors.ts";
import type { ParameterLayout } from "../model/parameter_layout.ts";
import { adamw } from "../ops/adamw.ts";
import { adamw8, decodeMoment, encodeMoment, type Moment8, momentBlock } from "../ops/adamw8.ts";

/** How the optimizer's moments are held: f32, or 8 bits with a scale per block of 64. */
export type MomentType = "f32" | "int8";

/** What a step reads and writes beside the moments, segment by segment of one layout. */
export interface StepTensors {
  readonly params: readonly Tensor[];
  readonly grads: readonly Tensor[];
  /** (4), as `gradNorm` wrote it */
  readonly stats: Tensor;
}

/** Both moments of AdamW over packed parameters; outside they are f32 under torch.optim.AdamW's names. */
export interface Moments {
  /** Records the step. */
  record(plan: PlanBuilder, tensors: StepTensors): void;
  /** Copies on the host, by the prefix of their names in a file. */
  toHost(): Promise<Readonly<Record<string, ParameterReader>>>;
  /** Replaces them by what `fill` writes. */
  load(fill: (sets: Readonly<Record<string, TensorSink>>) => Promise<void>): Promise<void>;
  dispose(): void;
}

const [first, second] = ["exp_avg.", "exp_avg_sq."] as const;

/** Moments in f32. */
export class FullMoments implements Moments {
  private readonly sets: readonly [PackedTensors, PackedTensors];

  /** @throws DeviceError "device_memory" */
  constructor(device: Device, layout: ParameterLayout) {
    this.sets = [new PackedTensors(device, layout, "first_moment"), new PackedTensors(device, layout, "second_moment")];
  }

  record(plan: PlanBuilder, { params, grads, stats }: StepTensors): void {
    const [m, v] = this.sets.map((set) => set.segments()) as [Tensor[], Tensor[]];
    for (const [i, segment] of params.entries()) {
      adamw(plan, { params: segment, grads: grads[i] as Tensor, m: m[i] as Tensor, v: v[i] as Tensor, stats });
    }
  }

  async toHost(): Promise<Record<string, ParameterReader>> {
    return { [first]: await this.sets[0].toHost(), [second]: await this.sets[1].toHost() };
  }

  async load(fill: (sets: Readonly<Record<string, TensorSink>>) => Promise<void>): Promise<void> {
    await fill({ [first]: this.sets[0], [second]: this.sets[1] });
  }

  dispose(): void {
    for (const set of this.sets) set.dispose();
  }
}

/** Moments in 8 bits: a quarter of the memory; a checkpoint's f32 values are exactly those they stand for. */
export class SmallMoments implements Moments {
  private readonly device: Device;
  private readonly layout: ParameterLayout;
  /** Per segment: codes and scales of the first moment, then of the second. */
  private readonly buffers: readonly (readonly [PoolBuffer, PoolBuffer, PoolBuffer, PoolBuffer])[];

  /** @throws DeviceError "device_memory" */
  constructor(device: Device, layout: ParameterLayout) {
    this.device = device;
    this.layout = layout;
    this.buffers = layout.segmentBytes.map((bytes, i) => {
      const allocate = (label: string, size: number): PoolBuffer =>
        device.pool.allocate(`${label}.${i}`, size, tensorUsage);
      const [codes, scales] = [bytes / 4, bytes / momentBlock];
      return [allocate("m", codes), allocate("m_scales", scales), allocate("v", codes), allocate("v_scales", scales)];
    });
  }

  record(plan: PlanBuilder, { params, grads, stats }: StepTensors): void {
    for (const [i, segment] of params.entries()) {
      const [m, v] = [this.moment(i, 0), this.moment(i, 2)];
      adamw8(plan, { params: segment, grads: grads[i] as Tensor, m, v, stats });
    }
  }

  async toHost(): Promise<Record<string, ParameterReader>> {
    return { [first]: await this.read(0), [second]: await this.read(2) };
  }

  async load(fill: (sets: Readonly<Record<string, TensorSink>>) => Promise<void>): Promise<void> {
    const [m, v] = [new HostTensors(this.layout), new HostTensors(this.layout)];
    await fill({ [first]: m, [second]: v });
    this.write(0, m.segments);
    this.write(2, v.segments);
  }

  dispose(): void {
    for (const buffer of this.buffers.flat()) this.device.pool.release(buffer);
  }

  private moment(segment: number, at: 0 | 2): Moment8 {
    const [codes, scales] = this.pair(segment, at);
    const elements = (this.layout.segmentBytes[segment] as number) / 4;
    return {
      codes: bufferTensor(codes, [elements / 4], "u32"),
      scales: bufferTensor(scales, [elements / momentBlock]),
    };
  }

  private pair(segment: number, at: 0 | 2): readonly [PoolBuffer, PoolBuffer] {
    const own = this.buffers[segment] as (typeof this.buffers)[number];
    return [own[at], own[at + 1] as PoolBuffer];
  }

  private async read(at: 0 | 2): Promise<HostTensors> {
    const host = new HostTensors(this.layout);
    for (const [i, values] of host.segments.entries()) {
      const [codes, scales] = this.pair(i, at);
      const bytes = new Uint8Array(await readBuffer(this.device, codes, 0, values.length));
      const factors = await readBuffer(this.device, scales, 0, (4 * values.length) / momentBlock);
      values.set(decodeMoment(bytes, new Float32Array(factors), at === 2));
    }
    return host;
  }

  private write(at: 0 | 2, segments: readonly Float32Array[]): void {
    for (const [i, values] of segments.entries()) {
      const encoded = encodeMoment(values, at === 2);
      const [codes, scales] = this.pair(i, at);
      this.device.gpu.queue.writeBuffer(codes.gpu, 0, encoded.codes as Uint8Array<ArrayBuffer>);
      this.device.gpu.queue.writeBuffer(scales.gpu, 0, encoded.scales as Float32Array<ArrayBuffer>);
    }
  }
}
