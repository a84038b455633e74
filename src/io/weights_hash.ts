import { sha256 } from "@noble/hashes/sha2.js";
import { hex } from "../core/clock.ts";
import { encodeFloats } from "./float_bytes.ts";
import type { TensorSource } from "./safetensors.ts";

/** Values hashed at a time: 4 MiB of f32. */
const chunkValues = 1024 * 1024;

/**
 * SHA-256 (hex) that names a set of weights, independent of sharding and of order in files: over the tensors sorted by
 * name (by code unit), each as the line `name dtype d0,d1,...\n` in UTF-8 followed by its bytes as a file of that dtype
 * holds them. Tensors are loaded one at a time. `crypto.subtle` cannot do this: it takes the whole input at once.
 */
export async function weightsSha256(tensors: readonly TensorSource[]): Promise<string> {
  const hash = sha256.create();
  const text = new TextEncoder();
  const ordered = [...tensors].sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
  for (const tensor of ordered) {
    hash.update(text.encode(`${tensor.name} ${tensor.dtype} ${tensor.shape.join(",")}\n`));
    const values = await tensor.load();
    for (let at = 0; at < values.length; at += chunkValues) {
      hash.update(encodeFloats(tensor.dtype, values.subarray(at, at + chunkValues)));
    }
  }
  return hex(hash.digest());
}
