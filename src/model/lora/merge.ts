import { type LoraConfig, loraScale } from "../../schema/lora.ts";
import type { DecoderDescription } from "../decoder.ts";

/** A module's pair on the host: A (r,K) and B (columns,r), row-major. */
export interface HostPair {
  readonly a: Float32Array;
  readonly b: Float32Array;
}

/**
 * Adds scale * B A to a module's matrix in place, in float64: what the adapter computes beside it becomes part of it.
 * `inputs`: K; the matrix is (columns,K) or, in layout "in_out", (K,columns).
 */
export function mergePair(
  weights: Float32Array,
  { a, b }: HostPair,
  inputs: number,
  config: LoraConfig,
  layout: DecoderDescription["weightLayout"],
): void {
  const { rank } = config;
  const scale = loraScale(config);
  const columns = b.length / rank;
  const row = new Float64Array(inputs);
  for (let n = 0; n < columns; n++) {
    row.fill(0);
    for (let k = 0; k < rank; k++) {
      const factor = scale * (b[n * rank + k] as number);
      const from = k * inputs;
      for (let i = 0; i < inputs; i++) row[i] = (row[i] as number) + factor * (a[from + i] as number);
    }
    const [start, step] = layout === "out_in" ? [n * inputs, 1] : [n, columns];
    for (let i = 0; i < inputs; i++)
      weights[start + i * step] = (weights[start + i * step] as number) + (row[i] as number);
  }
}
