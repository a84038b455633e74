import type { DType } from "../core/dtype.ts";
import { alignUp } from "../core/shape.ts";
import type { Device } from "./device.ts";
import type { PoolBuffer } from "./pool.ts";
import { bufferTensor, type Tensor } from "./tensor.ts";
import { usage } from "./usage.ts";

/** A range of device memory to read. */
export interface ReadbackSource {
  readonly buffer: PoolBuffer;
  readonly offset: number;
  readonly bytes: number;
}

/** Copies ranges into one mappable buffer, kept from replay to replay, and hands them to the host. */
export class Readback {
  private readonly device: Device;
  private staging: PoolBuffer | null = null;
  private sources: readonly ReadbackSource[] = [];

  constructor(device: Device) {
    this.device = device;
  }

  /** Adds the copies to an encoder that is about to be submitted. */
  encode(encoder: GPUCommandEncoder, sources: readonly ReadbackSource[]): void {
    this.sources = sources;
    const total = sources.reduce((n, s) => n + alignUp(s.bytes, 16), 0);
    if (total === 0) return;
    if (this.staging === null || this.staging.bytes < total) {
      if (this.staging !== null) this.device.pool.release(this.staging);
      this.staging = this.device.pool.allocate("readback", total, usage.mapRead | usage.copyDst);
    }
    let at = 0;
    for (const s of sources) {
      if (s.bytes > 0) encoder.copyBufferToBuffer(s.buffer.gpu, s.offset, this.staging.gpu, at, alignUp(s.bytes, 4));
      at += alignUp(s.bytes, 16);
    }
  }

  /** Waits for the copies of the last `encode`, one ArrayBuffer per source; waits for nothing when it had none. */
  async collect(): Promise<ArrayBuffer[]> {
    const total = this.sources.reduce((n, s) => n + alignUp(s.bytes, 16), 0);
    if (total === 0 || this.staging === null) return this.sources.map(() => new ArrayBuffer(0));
    const mapMode = 0x1; // GPUMapMode.READ; Node has no such global.
    this.device.counters.readbacks++;
    await this.device.orLost(this.staging.gpu.mapAsync(mapMode, 0, total));
    const mapped = this.staging.gpu.getMappedRange(0, total);
    let at = 0;
    const out = this.sources.map((s) => {
      const part = mapped.slice(at, at + s.bytes);
      at += alignUp(s.bytes, 16);
      return part;
    });
    this.staging.gpu.unmap();
    return out;
  }

  dispose(): void {
    if (this.staging !== null) this.device.pool.release(this.staging);
    this.staging = null;
  }
}

/** A typed view of read bytes. */
export function typedView(dtype: DType, data: ArrayBuffer, bytes: number): Float32Array | Uint32Array | Int32Array {
  const exact = data.byteLength === bytes ? data : data.slice(0, bytes);
  if (dtype === "f32") return new Float32Array(exact);
  if (dtype === "i8" || dtype === "f16") return new Uint32Array(exact);
  return dtype === "u32" ? new Uint32Array(exact) : new Int32Array(exact);
}

/** Reads a lasting buffer's range once, outside any plan (checkpoints, tests). */
export async function readBuffer(device: Device, buffer: PoolBuffer, offset = 0, bytes?: number): Promise<ArrayBuffer> {
  const readback = new Readback(device);
  try {
    const encoder = device.gpu.createCommandEncoder();
    readback.encode(encoder, [{ buffer, offset, bytes: bytes ?? buffer.bytes - offset }]);
    device.submit(encoder);
    const [data] = await readback.collect();
    device.throwFault();
    return data as ArrayBuffer;
  } finally {
    readback.dispose();
  }
}

/** A lasting tensor filled from the host. The caller releases its buffer. */
export function uploadTensor(
  device: Device,
  label: string,
  shape: readonly number[],
  data: Float32Array | Uint32Array | Int32Array,
): Tensor {
  const buffer = device.pool.allocate(label, data.byteLength, usage.storage | usage.copyDst | usage.copySrc);
  device.gpu.queue.writeBuffer(buffer.gpu, 0, data.buffer as ArrayBuffer, data.byteOffset, data.byteLength);
  const dtype: DType = data instanceof Float32Array ? "f32" : data instanceof Uint32Array ? "u32" : "i32";
  return bufferTensor(buffer, shape, dtype);
}
