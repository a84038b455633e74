/** Normalisation of the residual stream: RMSNorm (weight plus `shift`; 1 for zero-centred weights) or LayerNorm. */
export type NormDescription =
  | { readonly kind: "rms"; readonly eps: number; readonly shift: number }
  | { readonly kind: "layer"; readonly eps: number };

/** How rotary frequencies are stretched for contexts longer than those trained on. */
export type RotaryScaling =
  | { readonly kind: "default" }
  | { readonly kind: "linear"; readonly factor: number }
  | {
      readonly kind: "llama3";
      readonly factor: number;
      readonly lowFreqFactor: number;
      readonly highFreqFactor: number;
      readonly originalContextLength: number;
    };

/** Where a token stands: rotation of the first `rotaryDim` dimensions of each q and k head, or a learned table. */
export type PositionDescription =
  | { readonly kind: "rotary"; readonly rotaryDim: number; readonly theta: number; readonly scaling: RotaryScaling }
  | { readonly kind: "learned" };

/** Elementwise function of the MLP; gated computes f(gate) * up. */
export interface ActivationDescription {
  readonly kind: "silu" | "gelu" | "gelu_tanh";
  readonly gated: boolean;
}

/**
 * A decoder-only transformer as plain data; one forward and one backward serve all of them. Blocks are pre-norm:
 * x += attention(norm1(x)); x += mlp(norm2(x)); logits = finalNorm(x) head^T.
 */
export interface DecoderDescription {
  /** Name of the family it came from. */
  readonly family: string;
  /** Rows of the embedding (V); may exceed the tokenizer's size. */
  readonly vocabSize: number;
  /** Width of the residual stream (C). */
  readonly width: number;
  readonly layers: number;
  readonly heads: number;
  /** Key and value heads; a divisor of `heads`. */
  readonly kvHeads: number;
  readonly headDim: number;
  /** Hidden width of the MLP (F). */
  readonly ffn: number;
  /** Most tokens of one sequence. */
  readonly contextLength: number;
  readonly norm: NormDescription;
  /** RMSNorm of every q and k head before rotation, with `norm`'s eps and shift (Qwen3). */
  readonly headNorm: boolean;
  readonly activation: ActivationDescription;
  readonly positions: PositionDescription;
  readonly bias: { readonly qkv: boolean; readonly attentionOut: boolean; readonly mlp: boolean };
  /** The head is the embedding. */
  readonly tiedHead: boolean;
  /** Rows of the head where they are not the vocabulary: 1 for a critic's value head, which has a bias. */
  readonly headRows?: number;
  /** Factor of the token embedding; 1 for none. */
  readonly embeddingScale: number;
  /** Factor of q k^T. */
  readonly attentionScale: number;
  /** Weight matrices as (out, in), or as (in, out) like GPT-2's Conv1D. */
  readonly weightLayout: "out_in" | "in_out";
  /** Standard deviations of a random start; `residualScaled` divides those that write to the residual by sqrt(2 L). */
  readonly init: { readonly std: number; readonly residualScaled: boolean };
}

/** Columns of the fused projection: (H + 2 KV) D. */
export function qkvWidth(d: Pick<DecoderDescription, "heads" | "kvHeads" | "headDim">): number {
  return (d.heads + 2 * d.kvHeads) * d.headDim;
}

/** Columns of the MLP's first matrix: 2 F with a gate, else F. */
export function upWidth(d: Pick<DecoderDescription, "ffn" | "activation">): number {
  return d.activation.gated ? 2 * d.ffn : d.ffn;
}
