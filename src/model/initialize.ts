import { deriveKey, Rng, seedKey } from "../core/rng.ts";
import { sizeOf } from "../core/shape.ts";
import type { DecoderDescription } from "./decoder.ts";
import type { Family, FileTensor } from "./families/family.ts";
import type { PackedTensors } from "./packed_tensors.ts";
import { type InitRule, parameterSpecs } from "./parameter_layout.ts";

/** How a model without weights starts. */
export interface InitOptions {
  readonly seed: number;
  /** Standard deviation of matrices; default the config's initializer_range. */
  readonly std?: number;
  /** Standard deviation of the embeddings; default that of the matrices. */
  readonly embeddingStd?: number;
}

/** A tensor of the saved form with its first values. */
export interface InitialTensor extends FileTensor {
  readonly values: Float32Array;
}

/**
 * The tensors of a model without weights, each made when its turn comes: norms one (or zero where zero-centred), biases
 * zero, the rest normal. Each tensor of the saved form has its own stream, keyed by its name, so that how tensors are
 * fused or ordered does not change a seed's model.
 */
export function* initialTensors(family: Family, d: DecoderDescription, options: InitOptions): Generator<InitialTensor> {
  const std = options.std ?? d.init.std;
  const residualStd = d.init.residualScaled ? std / Math.sqrt(2 * d.layers) : std;
  const stds: Readonly<Record<Exclude<InitRule, "one" | "zero">, number>> = {
    matrix: std,
    residual: residualStd,
    embedding: options.embeddingStd ?? std,
  };
  const rules = new Map(parameterSpecs(d).map(({ name, init }) => [name, init]));
  for (const tensor of family.tensors(d)) {
    const rule = rules.get(tensor.parameter) ?? "zero";
    const values = new Float32Array(sizeOf(tensor.shape));
    if (rule === "one") values.fill(1);
    else if (rule !== "zero") {
      const rng = new Rng(deriveKey(seedKey(options.seed), "init", tensor.name));
      for (let i = 0; i < values.length; i++) values[i] = stds[rule] * rng.normal();
    }
    yield { ...tensor, values };
  }
}

/** Fills a model's parameters with its first values. */
export function initializeParameters(
  family: Family,
  d: DecoderDescription,
  parameters: PackedTensors,
  options: InitOptions,
): void {
  for (const { parameter, values, offset } of initialTensors(family, d, options)) {
    parameters.write(parameter, values, offset);
  }
}
