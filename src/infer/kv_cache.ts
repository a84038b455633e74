import type { Device } from "../gpu/device.ts";
import { bufferTensor, type Tensor } from "../gpu/tensor.ts";
import { tensorUsage } from "../gpu/usage.ts";
import { type KvFormat, type KvPages, kvFormatBytes, pageTokens, requireKvFormat } from "../ops/kv_pages.ts";
import type { QkvShape } from "../ops/qkv_shape.ts";

/** Sizes of a cache. */
export interface KvCacheSizes extends Pick<QkvShape, "kvHeads" | "headDim"> {
  readonly layers: number;
  readonly pageCount: number;
  readonly format: KvFormat;
}

/** The paged key-value cache of every layer, on the device. */
export class KvCache {
  readonly layers: readonly KvPages[];
  private readonly device: Device;

  /** Allocates `pageCount` pages per layer. @throws ConfigError when the format does not suit the heads */
  constructor(device: Device, { layers, pageCount, kvHeads, headDim, format }: KvCacheSizes) {
    this.device = device;
    requireKvFormat(format, headDim);
    const words = (kvHeads * headDim * kvFormatBytes[format]) / 4;
    const shape = [pageCount, pageTokens, words];
    const dtype = format === "f32" ? "f32" : "u32";
    const tensor = (label: string): Tensor =>
      bufferTensor(device.pool.allocate(label, pageCount * pageTokens * words * 4, tensorUsage), shape, dtype);
    this.layers = Array.from({ length: layers }, (_, i) => ({ k: tensor(`kv.k.${i}`), v: tensor(`kv.v.${i}`) }));
  }

  /** Releases the device memory. */
  dispose(): void {
    for (const { k, v } of this.layers) {
      for (const t of [k, v]) if (t.storage.kind === "buffer") this.device.pool.release(t.storage.buffer);
    }
  }
}
