import type { Device } from "../gpu/device.ts";
import { bufferTensor, type Tensor } from "../gpu/tensor.ts";
import { tensorUsage } from "../gpu/usage.ts";
import { type KvPages, pageTokens } from "../ops/kv_pages.ts";

/** The paged key-value cache of every layer, on the device. */
export class KvCache {
  readonly layers: readonly KvPages[];
  private readonly device: Device;

  /** Allocates `pageCount` pages per layer of `width` = KV*D numbers a token. */
  constructor(device: Device, layers: number, pageCount: number, width: number) {
    this.device = device;
    const shape = [pageCount, pageTokens, width];
    const tensor = (label: string): Tensor =>
      bufferTensor(device.pool.allocate(label, pageCount * pageTokens * width * 4, tensorUsage), shape);
    this.layers = Array.from({ length: layers }, (_, i) => ({ k: tensor(`kv.k.${i}`), v: tensor(`kv.v.${i}`) }));
  }

  /** Releases the device memory. */
  dispose(): void {
    for (const { k, v } of this.layers) {
      for (const t of [k, v]) if (t.storage.kind === "buffer") this.device.pool.release(t.storage.buffer);
    }
  }
}
