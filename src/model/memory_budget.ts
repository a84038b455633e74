import type { Capabilities } from "../gpu/capabilities.ts";
import { type KvFormat, kvFormatBytes } from "../ops/kv_pages.ts";
import type { DecoderDescription } from "./decoder.ts";

/** Bytes of a mebibyte. */
export const mebibyte: number = 1024 * 1024;

/** Largest size of one chunk of logits in the loss head; a chunk has a gradient of the same size in place. */
export const lossHeadChunkBytes: number = 64 * mebibyte;

/**
 * Bytes planned for when the user names none: WebGPU does not tell how much memory a device has, so this stays where
 * common machines do. Software adapters use the system's memory.
 */
export function defaultBudgetBytes(deviceClass: Capabilities["deviceClass"]): number {
  return (deviceClass === "software" ? 2048 : 4096) * mebibyte;
}

/** Bytes of the keys and values of one token. */
export function kvBytesPerToken(d: DecoderDescription, format: KvFormat = "f32"): number {
  return kvFormatBytes[format] * 2 * d.layers * d.kvHeads * d.headDim;
}
