import { blockColumns, elementBytes } from "../core/dtype.ts";
import { FormatError, LeydenError } from "../core/errors.ts";
import { sizeOf } from "../core/shape.ts";
import type { Device } from "../gpu/device.ts";
import type { PoolBuffer } from "../gpu/pool.ts";
import { readBuffer } from "../gpu/readback.ts";
import { bufferTensor, type Tensor } from "../gpu/tensor.ts";
import { tensorUsage } from "../gpu/usage.ts";
import { decodeValues, encodeValues } from "./frozen_values.ts";
import type { ParameterLayout, PlacedParameter } from "./parameter_layout.ts";

/** Most bytes read back at a time: what a checkpoint takes on the device beside what it copies. */
export const transferBytes: number = 32 * 2 ** 20;

/** Elements encoded and handed to the device at a time, a multiple of a block. */
const chunkElements = 2 ** 22;

/** Where some elements of a parameter lie, [offset, bytes], and their scales (none but for i8). */
function ranges(
  at: PlacedParameter,
  offset: number,
  count: number,
): { own: [number, number]; scales: [number, number] } {
  const size = elementBytes[at.dtype];
  const scaleAt = (element: number): number => (elementBytes.f32 * element) / blockColumns;
  return {
    own: [at.offsetBytes + size * offset, size * count],
    scales: at.dtype === "i8" ? [at.scalesOffsetBytes + scaleAt(offset), scaleAt(count)] : [at.offsetBytes, 0],
  };
}

/** Whatever holds a model's parameters, on the device or on the host. */
export interface ParameterReader {
  /** `count` values of a parameter from its element `offset` on (all by default). */
  read(name: string, offset?: number, count?: number): Promise<Float32Array>;
}

/** Whatever takes a model's parameters, tensor by tensor of a file. */
export interface TensorSink {
  /** Values of a parameter from its element `offset` on. */
  write(name: string, values: Float32Array, offset?: number): void;
}

/**
 * Tensors of one layout in packed device buffers: parameters, gradients, or a moment of the optimizer. They are f32 on
 * the outside, whatever type the layout holds them in.
 */
export class PackedTensors implements ParameterReader, TensorSink {
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
    const label = `${this.label}.${name}`;
    const tensor = bufferTensor(this.buffer(at), at.shape, at.dtype, at.offsetBytes, label);
    if (at.dtype !== "i8") return tensor;
    const [rows = 0, cols = 0] = at.shape;
    const blocks = [rows, cols / blockColumns];
    return { ...tensor, scales: bufferTensor(this.buffer(at), blocks, "f32", at.scalesOffsetBytes, `${label}.scales`) };
  }

  has(name: string): boolean {
    return this.layout.parameters.has(name);
  }

  /**
   * Each packed buffer as one flat f32 tensor (n); the padding between parameters is 0 and stays 0.
   * @throws LeydenError "frozen_weights" when the layout holds other types
   */
  segments(): Tensor[] {
    const frozen = [...this.layout.parameters.values()].find((p) => p.dtype !== "f32");
    if (frozen !== undefined) {
      throw new LeydenError("frozen_weights", `Parameter "${frozen.name}" is ${frozen.dtype} and cannot be trained.`, {
        do: "Set model.weights to f32, or train an adapter (train.loraRank).",
      });
    }
    return this.buffers.map((b, i) => bufferTensor(b, [(this.layout.segmentBytes[i] as number) / 4]));
  }

  /**
   * Writes values into a parameter from its element `offset` on (whole rows, unless it is f32).
   * @throws FormatError "weights_overflow"
   */
  write(name: string, values: Float32Array, offset = 0): void {
    const at = this.place(name);
    for (let done = 0; done < values.length; done += chunkElements) {
      const encoded = encodeValues(name, at.dtype, values.subarray(done, done + chunkElements));
      const first = offset + done;
      this.writeBytes(at, at.offsetBytes + elementBytes[at.dtype] * first, encoded.values);
      if (encoded.scales === undefined) continue;
      this.writeBytes(at, at.scalesOffsetBytes + (elementBytes.f32 * first) / blockColumns, encoded.scales);
    }
  }

  async read(name: string, offset = 0, count?: number): Promise<Float32Array> {
    const at = this.place(name);
    const { own, scales } = ranges(at, offset, count ?? sizeOf(at.shape) - offset);
    const buffer = this.buffer(at);
    const bytes = await this.readBytes(buffer, ...own);
    return decodeValues(at.dtype, bytes, await this.readBytes(buffer, ...scales));
  }

  /** A copy of everything on the host, by few large readbacks where tensor by tensor would wait for each. */
  async toHost(): Promise<ParameterReader> {
    const segments: ArrayBuffer[] = [];
    for (const [i, buffer] of this.buffers.entries()) {
      segments.push(await this.readBytes(buffer, 0, this.layout.segmentBytes[i] as number));
    }
    return {
      read: async (name, offset = 0, count) => {
        const at = this.place(name);
        const elements = count ?? sizeOf(at.shape) - offset;
        const segment = segments[at.segment] as ArrayBuffer;
        if (at.dtype === "f32") return new Float32Array(segment, at.offsetBytes + 4 * offset, elements);
        const { own, scales } = ranges(at, offset, elements);
        const cut = ([start, bytes]: readonly [number, number]): ArrayBuffer => segment.slice(start, start + bytes);
        return decodeValues(at.dtype, cut(own), cut(scales));
      },
    };
  }

  /** Sets everything to 0. */
  clear(): void {
    const encoder = this.device.gpu.createCommandEncoder({ label: `clear ${this.label}` });
    for (const buffer of this.buffers) encoder.clearBuffer(buffer.gpu);
    this.device.submit(encoder);
  }

  /** Releases the buffers. */
  dispose(): void {
    for (const buffer of this.buffers) this.device.pool.release(buffer);
  }

  /** Bytes of a buffer by way of a staging buffer of limited size. */
  private async readBytes(buffer: PoolBuffer, offset: number, bytes: number): Promise<ArrayBuffer> {
    if (bytes <= transferBytes) return readBuffer(this.device, buffer, offset, bytes);
    const whole = new Uint8Array(bytes);
    for (let done = 0; done < bytes; done += transferBytes) {
      const part = Math.min(transferBytes, bytes - done);
      whole.set(new Uint8Array(await readBuffer(this.device, buffer, offset + done, part)), done);
    }
    return whole.buffer;
  }

  private writeBytes(at: PlacedParameter, offsetBytes: number, data: Float32Array | Uint16Array | Int8Array): void {
    const { buffer, byteOffset, byteLength } = data;
    this.device.gpu.queue.writeBuffer(this.buffer(at).gpu, offsetBytes, buffer as ArrayBuffer, byteOffset, byteLength);
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
