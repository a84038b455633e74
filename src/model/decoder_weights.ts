import type { Tensor } from "../gpu/tensor.ts";
import type { DecoderDescription } from "./decoder.ts";
import type { PackedTensors } from "./packed_tensors.ts";

/** A matrix and its bias. */
export interface LinearWeights {
  readonly w: Tensor;
  readonly bias?: Tensor;
}

/** A norm's weight (C) and LayerNorm's bias (C). */
export interface NormWeights {
  readonly w: Tensor;
  readonly bias?: Tensor;
}

/** Parameters of one block. */
export interface LayerWeights {
  readonly norm1: NormWeights;
  /** Rows (or columns) [q heads | k heads | v heads]. */
  readonly qkv: LinearWeights;
  /** Weights (D) of the norms of q and k heads. */
  readonly headNorm?: { readonly q: Tensor; readonly k: Tensor };
  readonly out: LinearWeights;
  readonly norm2: NormWeights;
  /** [gate | up] when gated. */
  readonly up: LinearWeights;
  readonly down: LinearWeights;
}

/** Views of a decoder's parameters, or of their gradients: the same structure. */
export interface DecoderWeights {
  /** (V,C) */
  readonly embed: Tensor;
  /** (P,C) when positions are learned. */
  readonly positions?: Tensor;
  readonly layers: readonly LayerWeights[];
  readonly norm: NormWeights;
  /** (V,C); the embedding itself when tied. */
  readonly head: Tensor;
}

/** The packed tensors of `d` by role. */
export function decoderWeights(d: DecoderDescription, packed: PackedTensors): DecoderWeights {
  const optional = (name: string): Tensor | undefined => (packed.has(name) ? packed.tensor(name) : undefined);
  const pair = (name: string): LinearWeights => ({ w: packed.tensor(name), bias: optional(`${name}.bias`) });
  const layer = (at: string): LayerWeights => ({
    norm1: pair(`${at}.norm1`),
    qkv: pair(`${at}.qkv`),
    headNorm: d.headNorm ? { q: packed.tensor(`${at}.q_norm`), k: packed.tensor(`${at}.k_norm`) } : undefined,
    out: pair(`${at}.out`),
    norm2: pair(`${at}.norm2`),
    up: pair(`${at}.up`),
    down: pair(`${at}.down`),
  });
  const embed = packed.tensor("embed");
  return {
    embed,
    positions: optional("positions"),
    layers: Array.from({ length: d.layers }, (_, i) => layer(`layers.${i}`)),
    norm: pair("norm"),
    head: d.tiedHead ? embed : packed.tensor("head"),
  };
}
