import type { DecoderDescription } from "../decoder.ts";
import { ConfigFields, refuseForeignOptions } from "./config_fields.ts";
import type { Family, FileTensor } from "./family.ts";

/**
 * GPT-2: LayerNorm, learned positions, biases everywhere, tanh GELU, matrices as (in, out). Dropout is not applied:
 * recorded and recomputed log-probabilities must agree.
 */
export const gpt2: Family = {
  name: "gpt2",
  modelTypes: ["gpt2"],
  architectures: ["GPT2LMHeadModel"],
  prefix: "transformer.",
  describe,
  tensors,
  isRedundant: (name, d) => /\.attn\.(masked_)?bias$/.test(name) || (d.tiedHead && name === "lm_head.weight"),
};

function describe(config: Parameters<Family["describe"]>[0]): DecoderDescription {
  const fields = new ConfigFields(config, "gpt2");
  refuseForeignOptions(fields);
  fields.refuse(!fields.flag("scale_attn_weights", true), "scale_attn_weights false", "Use a checkpoint without it.");
  for (const key of ["scale_attn_by_inverse_layer_idx", "add_cross_attention"]) {
    fields.refuse(fields.flag(key, false), `${key} true`, "Use a checkpoint without it.");
  }
  const width = fields.count("n_embd");
  const heads = fields.count("n_head");
  if (width % heads !== 0) throw fields.fault("n_embd", width, `a multiple of ${heads} heads`);
  const headDim = width / heads;
  return {
    family: "gpt2",
    vocabSize: fields.count("vocab_size"),
    width,
    layers: fields.count("n_layer"),
    heads,
    kvHeads: heads,
    headDim,
    ffn: fields.count("n_inner", 4 * width),
    contextLength: fields.count("n_positions"),
    norm: { kind: "layer", eps: fields.number("layer_norm_epsilon", 1e-5) },
    headNorm: false,
    activation: { kind: fields.activation("activation_function", "gelu_new"), gated: false },
    positions: { kind: "learned" },
    bias: { qkv: true, attentionOut: true, mlp: true },
    tiedHead: fields.flag("tie_word_embeddings", true),
    embeddingScale: 1,
    attentionScale: headDim ** -0.5,
    weightLayout: "in_out",
    init: { std: fields.number("initializer_range", 0.02), residualScaled: true },
  };
}

/** Source: the state dict of transformers' GPT2LMHeadModel. */
function tensors(d: DecoderDescription): FileTensor[] {
  const whole = (name: string, parameter: string, shape: number[]): FileTensor => ({
    name,
    shape,
    parameter,
    offset: 0,
  });
  const withBias = (name: string, parameter: string, shape: number[]): FileTensor[] => [
    whole(`${name}.weight`, parameter, shape),
    whole(`${name}.bias`, `${parameter}.bias`, [shape.at(-1) as number]),
  ];
  const layer = (i: number): FileTensor[] => {
    const file = `transformer.h.${i}`;
    const at = `layers.${i}`;
    return [
      ...withBias(`${file}.ln_1`, `${at}.norm1`, [d.width]),
      ...withBias(`${file}.attn.c_attn`, `${at}.qkv`, [d.width, 3 * d.width]),
      ...withBias(`${file}.attn.c_proj`, `${at}.out`, [d.width, d.width]),
      ...withBias(`${file}.ln_2`, `${at}.norm2`, [d.width]),
      ...withBias(`${file}.mlp.c_fc`, `${at}.up`, [d.width, d.ffn]),
      ...withBias(`${file}.mlp.c_proj`, `${at}.down`, [d.ffn, d.width]),
    ];
  };
  return [
    whole("transformer.wte.weight", "embed", [d.vocabSize, d.width]),
    whole("transformer.wpe.weight", "positions", [d.contextLength, d.width]),
    ...Array.from({ length: d.layers }, (_, i) => layer(i)).flat(),
    ...withBias("transformer.ln_f", "norm", [d.width]),
    ...(d.tiedHead ? [] : [whole("lm_head.weight", "head", [d.vocabSize, d.width])]),
  ];
}
