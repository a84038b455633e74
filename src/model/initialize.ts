import { deriveKey, Rng, seedKey } from "../core/rng.ts";
import { sizeOf } from "../core/shape.ts";
import type { DecoderDescription } from "./decoder.ts";
import type { Family } from "./families/family.ts";
import type { PackedTensors } from "./packed_tensors.ts";
import type { InitRule } from "./parameter_layout.ts";

/** How a model without weights starts. */
export interface InitOptions {
  readonly seed: number;
  /** Standard deviation of matrices; default the config's initializer_range. */
  readonly std?: number;
  /** Standard deviation of the embeddings; default that of the matrices. */
  readonly embeddingStd?: number;
}

/**
 * Fills the parameters: norms one (or zero where zero-centred), biases zero, the rest normal. Each tensor of the saved
 * form has its own stream, keyed by its name, so that how tensors are fused or ordered does not change a seed's model.
 */
export function initializeParameters(
  family: Family,
  d: DecoderDescription,
  parameters: PackedTensors,
  options: InitOptions,
): void {
  const std = options.std ?? d.init.std;
  const residualStd = d.init.residualScaled ? std / Math.sqrt(2 * d.layers) : std;
  const stds: Readonly<Record<Exclude<InitRule, "one" | "zero">, number>> = {
    matrix: std,
    residual: residualStd,
    embedding: options.embeddingStd ?? std,
  };
  for (const tensor of family.tensors(d)) {
    const rule = parameters.layout.parameters.get(tensor.parameter)?.init ?? "zero";
    const values = new Float32Array(sizeOf(tensor.shape));
    if (rule === "one") values.fill(1);
    else if (rule !== "zero") {
      const rng = new Rng(deriveKey(seedKey(options.seed), "init", tensor.name));
      for (let i = 0; i < values.length; i++) values[i] = stds[rule] * rng.normal();
    }
    parameters.write(tensor.parameter, values, tensor.offset);
  }
}
