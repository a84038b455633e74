import type { Device } from "../gpu/device.ts";
import { bufferTensor, type Tensor } from "../gpu/tensor.ts";
import { tensorUsage } from "../gpu/usage.ts";
import { pageTokens } from "../ops/kv_pages.ts";

/** Keys and values of one layer: (slots, KV*D) each, slot = page * page size + offset. */
export interface LayerCache {
  readonly keys: Tensor;
  readonly values: Tensor;
}

/** The paged key-value cache of every layer, on the device. */
export class KvCache {
  readonly layers: readonly LayerCache[];
  private readonly device: Device;

  /** Allocates `pageCount` pages per layer of `width` = KV*D numbers a token. */
  constructor(device: Device, layers: number, pageCount: number, width: number) {
    this.device = device;
    const slots = pageCount * pageTokens;
    const tensor = (label: string): Tensor =>
      bufferTensor(device.pool.allocate(label, slots * width * 4, tensorUsage), [slots, width]);
    this.layers = Array.from({ length: layers }, (_, i) => ({
      keys: tensor(`kv.keys.${i}`),
      values: tensor(`kv.values.${i}`),
    }));
  }

  /** Releases the device memory. */
  dispose(): void {
    for (const { keys, values } of this.layers) {
      for (const t of [keys, values]) if (t.storage.kind === "buffer") this.device.pool.release(t.storage.buffer);
    }
  }
}
