import { DeviceError } from "../core/errors.ts";
import { alignUp } from "../core/shape.ts";

/** A GPU buffer owned by a pool. Using it after `release` throws. */
export class PoolBuffer {
  readonly bytes: number;
  readonly label: string;
  private raw: GPUBuffer | null;

  constructor(raw: GPUBuffer, bytes: number, label: string) {
    this.raw = raw;
    this.bytes = bytes;
    this.label = label;
  }

  /** The buffer itself. @throws DeviceError when it was released. */
  get gpu(): GPUBuffer {
    if (this.raw === null) {
      throw new DeviceError("device_validation", `Buffer "${this.label}" was used after it was released.`, {
        do: "This is a fault in Leyden: report it with the command that showed it.",
      });
    }
    return this.raw;
  }

  get isReleased(): boolean {
    return this.raw === null;
  }

  /** Called by the pool only. */
  destroy(): void {
    this.raw?.destroy();
    this.raw = null;
  }
}

/** Owns every buffer of a device: counts bytes, and destroys what is released. */
export class Pool {
  private readonly gpu: GPUDevice;
  private readonly maxBufferBytes: number;
  private readonly live = new Set<PoolBuffer>();
  private usedBytes = 0;
  private peak = 0;
  private created = 0;

  constructor(gpu: GPUDevice, maxBufferBytes: number) {
    this.gpu = gpu;
    this.maxBufferBytes = maxBufferBytes;
  }

  /** Bytes, highest bytes, and number of live and ever created buffers. */
  get usage(): { bytes: number; peakBytes: number; buffers: number; created: number } {
    return { bytes: this.usedBytes, peakBytes: this.peak, buffers: this.live.size, created: this.created };
  }

  /**
   * A buffer of at least `bytes`, zero-filled by WebGPU. @throws DeviceError "device_memory" when it is larger than
   * the device allows in one buffer.
   */
  allocate(label: string, bytes: number, usage: GPUBufferUsageFlags): PoolBuffer {
    const size = alignUp(Math.max(16, bytes), 16);
    if (size > this.maxBufferBytes) {
      throw new DeviceError(
        "device_memory",
        `Buffer "${label}" needs ${size} bytes; this device allows ${this.maxBufferBytes} in one buffer.`,
        { do: "Lower train.microBatchTokens or model.kvTokens, or use a smaller model." },
      );
    }
    const buffer = new PoolBuffer(this.gpu.createBuffer({ label, size, usage }), size, label);
    this.live.add(buffer);
    this.usedBytes += size;
    this.created++;
    this.peak = Math.max(this.peak, this.usedBytes);
    return buffer;
  }

  /** Destroys the buffer. Work already submitted keeps its memory until it has run (WebGPU guarantees that). */
  release(buffer: PoolBuffer): void {
    if (!this.live.delete(buffer)) return;
    this.usedBytes -= buffer.bytes;
    buffer.destroy();
  }

  /** Destroys every live buffer. */
  dispose(): void {
    for (const buffer of [...this.live]) this.release(buffer);
  }
}
