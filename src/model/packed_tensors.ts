import { FormatError } from "../core/errors.ts";
import { sizeOf } from "../core/shape.ts";
import type { Device } from "../gpu/device.ts";
import type { PoolBuffer } from "../gpu/pool.ts";
import { readBuffer } from "../gpu/readback.ts";
import { bufferTensor, type Tensor } from "../gpu/tensor.ts";
import { tensorUsage } from "../gpu/usage.ts";
import type { ParameterLayout, PlacedParameter } from "./parameter_layout.ts";

/** Whatever holds a model's parameters, on the device or on the host. */
export interface ParameterReader {
  /** `count` values of a parameter from its element `offset` on (all by default). */
  read(name: string, offset?: number, count?: number): Promise<Float32Array>;
}

/** f32 tensors of one layout in packed device buffers: parameters, gradients, or a moment of the optimizer. */
export class PackedTensors implements ParameterReader {
  readonly layout: ParameterLayout;
  readonly label: string;
  private readonly device: Device;
  private readonly buffers: readonly PoolBuffer[];

  /** Allocates the buffers, zero-filled. @throws DeviceError "device_memory" */
  constructor(device: Device, layout: ParameterLayout, label: string) {
    this.device = device;
    this.layout = layout;
    this.label = label;
    this.buffers = layout.segmentBytes.map((bytes, i) => device.pool.allocate(`${label}.${i}`, bytes, tensorUsage));
  }

  /** Bytes of all segments. */
  get bytes(): number {
    return this.layout.segmentBytes.reduce((a, b) => a + b, 0);
  }

  /** View of one parameter. */
  tensor(name: string): Tensor {
    const at = this.place(name);
    return bufferTensor(this.buffer(at), at.shape, "f32", at.offsetBytes, `${this.label}.${name}`);
  }

  has(name: string): boolean {
    return this.layout.parameters.has(name);
  }

  /** Each packed buffer as one flat tensor (n); the padding between parameters is 0 and stays 0. */
  segments(): Tensor[] {
    return this.buffers.map((b, i) => bufferTensor(b, [(this.layout.segmentBytes[i] as number) / 4]));
  }

  /** Writes values into a parameter from its element `offset` on. */
  write(name: string, values: Float32Array, offset = 0): void {
    const at = this.place(name);
    this.device.gpu.queue.writeBuffer(
      this.buffer(at).gpu,
      at.offsetBytes + 4 * offset,
      values.buffer as ArrayBuffer,
      values.byteOffset,
      values.byteLength,
    );
  }

  async read(name: string, offset = 0, count?: number): Promise<Float32Array> {
    const at = this.place(name);
    const elements = count ?? sizeOf(at.shape) - offset;
    return new Float32Array(await readBuffer(this.device, this.buffer(at), at.offsetBytes + 4 * offset, 4 * elements));
  }

  /** A copy of everything on the host, by one readback per segment where tensor by tensor would wait for each. */
  async toHost(): Promise<ParameterReader> {
    const segments: ArrayBuffer[] = [];
    for (const [i, buffer] of this.buffers.entries()) {
      segments.push(await readBuffer(this.device, buffer, 0, this.layout.segmentBytes[i]));
    }
    return {
      read: async (name, offset = 0, count) => {
        const at = this.place(name);
        const elements = count ?? sizeOf(at.shape) - offset;
        return new Float32Array(segments[at.segment] as ArrayBuffer, at.offsetBytes + 4 * offset, elements);
      },
    };
  }

  /** Sets everything to 0. */
  clear(): void {
    const encoder = this.device.gpu.createCommandEncoder({ label: `clear ${this.label}` });
    for (const buffer of this.buffers) encoder.clearBuffer(buffer.gpu);
    this.device.gpu.queue.submit([encoder.finish()]);
  }

  /** Releases the buffers. */
  dispose(): void {
    for (const buffer of this.buffers) this.device.pool.release(buffer);
  }

  private buffer(at: PlacedParameter): PoolBuffer {
    return this.buffers[at.segment] as PoolBuffer;
  }

  private place(name: string): PlacedParameter {
    const found = this.layout.parameters.get(name);
    if (found !== undefined) return found;
    throw new FormatError("parameter_unknown", `This model has no parameter "${name}".`, {
      do: "Use a name of parameterSpecs.",
    });
  }
}
