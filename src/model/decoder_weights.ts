import type { Tensor } from "../gpu/tensor.ts";
import type { LoraPart } from "../ops/lora.ts";
import type { DecoderDescription } from "./decoder.ts";
import type { PackedTensors } from "./packed_tensors.ts";

/** Low-rank pairs beside a matrix: A (P*r,K) and B (S,r) of its parts, one below the other. */
export interface LoraWeights {
  readonly a: Tensor;
  readonly b: Tensor;
  readonly scale: number;
  readonly parts: readonly LoraPart[];
}

/** A matrix, its bias, and what an adapter adds. */
export interface LinearWeights {
  readonly w: Tensor;
  readonly bias?: Tensor;
  readonly lora?: LoraWeights;
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

/** Views of a decoder's parameters. */
export interface DecoderWeights {
  /** (V,C) */
  readonly embed: Tensor;
  /** (P,C) when positions are learned. */
  readonly positions?: Tensor;
  readonly layers: readonly LayerWeights[];
  readonly norm: NormWeights;
  /** (V,C); the embedding itself when tied. */
  readonly head: Tensor;
  /** (rows) of a value head. */
  readonly headBias?: Tensor;
}

/** Where the gradients of a projection go; what is absent is frozen. */
export interface LinearGradients {
  readonly w?: Tensor;
  readonly bias?: Tensor;
  readonly lora?: Pick<LoraWeights, "a" | "b">;
}

/** Where the gradients of one block go. */
export interface LayerGradients {
  readonly norm1: Partial<NormWeights>;
  readonly qkv: LinearGradients;
  readonly headNorm?: { readonly q: Tensor; readonly k: Tensor };
  readonly out: LinearGradients;
  readonly norm2: Partial<NormWeights>;
  readonly up: LinearGradients;
  readonly down: LinearGradients;
}

/** Where a decoder's gradients go: the structure of its weights without what is frozen. */
export interface DecoderGradients {
  readonly embed?: Tensor;
  readonly positions?: Tensor;
  readonly layers: readonly LayerGradients[];
  readonly norm: Partial<NormWeights>;
  readonly head?: Tensor;
  readonly headBias?: Tensor;
}

/** The packed tensors of `d` by role, with what `lora` has beside a projection ("layers.0.qkv"). */
export function decoderWeights(
  d: DecoderDescription,
  packed: PackedTensors,
  lora: (projection: string) => LoraWeights | undefined = () => undefined,
): DecoderWeights {
  const optional = (name: string): Tensor | undefined => (packed.has(name) ? packed.tensor(name) : undefined);
  const pair = (name: string): LinearWeights => ({
    w: packed.tensor(name),
    bias: optional(`${name}.bias`),
    lora: lora(name),
  });
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
    headBias: optional("head.bias"),
  };
}
