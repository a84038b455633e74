import type { DecoderDescription } from "../decoder.ts";
import { type ConfigFields, refuseForeignOptions, refuseSlidingWindow } from "./config_fields.ts";
import type { FileTensor } from "./family.ts";

/** What Llama-shaped families decide for themselves; the rest of their config.json has the same keys. */
export interface RotaryDecoderTraits {
  qkvBias: boolean;
  attentionOutBias: boolean;
  mlpBias: boolean;
  headNorm: boolean;
  tiedByDefault: boolean;
  normShift: 0 | 1;
  activation: DecoderDescription["activation"]["kind"];
  embeddingScale: number;
}

/** The description of a Llama-shaped model: RMSNorm, rotary positions, gated MLP, grouped-query attention. */
export function describeRotaryDecoder(fields: ConfigFields, traits: RotaryDecoderTraits): DecoderDescription {
  refuseForeignOptions(fields);
  const width = fields.count("hidden_size");
  const layers = fields.count("num_hidden_layers");
  const heads = fields.count("num_attention_heads");
  const kvHeads = fields.count("num_key_value_heads", heads);
  const contextLength = fields.count("max_position_embeddings", 2048);
  refuseSlidingWindow(fields, layers, contextLength);
  if (heads % kvHeads !== 0) throw fields.fault("num_key_value_heads", kvHeads, `a divisor of ${heads} heads`);
  if (fields.get("head_dim") === undefined && width % heads !== 0) {
    throw fields.fault("hidden_size", width, `a multiple of ${heads} heads when head_dim is absent`);
  }
  const headDim = fields.count("head_dim", Math.floor(width / heads));
  return {
    family: fields.family,
    vocabSize: fields.count("vocab_size"),
    width,
    layers,
    heads,
    kvHeads,
    headDim,
    ffn: fields.count("intermediate_size"),
    contextLength,
    norm: { kind: "rms", eps: fields.number("rms_norm_eps", 1e-6), shift: traits.normShift },
    headNorm: traits.headNorm,
    activation: { kind: traits.activation, gated: true },
    positions: fields.rotary(headDim),
    bias: { qkv: traits.qkvBias, attentionOut: traits.attentionOutBias, mlp: traits.mlpBias },
    tiedHead: fields.flag("tie_word_embeddings", traits.tiedByDefault),
    embeddingScale: traits.embeddingScale,
    attentionScale: headDim ** -0.5,
    weightLayout: "out_in",
    init: { std: fields.number("initializer_range", 0.02), residualScaled: false },
  };
}

/** Tensor names of Llama-shaped models. Source: the state dict of transformers' LlamaForCausalLM. */
export function rotaryDecoderTensors(d: DecoderDescription): FileTensor[] {
  const whole = (name: string, parameter: string, shape: number[]): FileTensor => ({
    name,
    shape,
    parameter,
    offset: 0,
  });
  const layers = Array.from({ length: d.layers }, (_, i) => layerTensors(d, `model.layers.${i}`, `layers.${i}`)).flat();
  const head = d.tiedHead ? [] : [whole("lm_head.weight", "head", [d.vocabSize, d.width])];
  return [
    whole("model.embed_tokens.weight", "embed", [d.vocabSize, d.width]),
    ...layers,
    whole("model.norm.weight", "norm", [d.width]),
    ...head,
  ];
}

function layerTensors(d: DecoderDescription, file: string, at: string): FileTensor[] {
  const q = d.heads * d.headDim;
  const kv = d.kvHeads * d.headDim;
  const norm = (name: string, parameter: string, size: number): FileTensor => ({
    name: `${file}.${name}.weight`,
    shape: [size],
    parameter: `${at}.${parameter}`,
    offset: 0,
  });
  const headNorms = d.headNorm
    ? [norm("self_attn.q_norm", "q_norm", d.headDim), norm("self_attn.k_norm", "k_norm", d.headDim)]
    : [];
  return [
    norm("input_layernorm", "norm1", d.width),
    ...fused(`${file}.self_attn`, `${at}.qkv`, d.width, { q_proj: q, k_proj: kv, v_proj: kv }, d.bias.qkv),
    ...headNorms,
    ...fused(`${file}.self_attn`, `${at}.out`, q, { o_proj: d.width }, d.bias.attentionOut),
    norm("post_attention_layernorm", "norm2", d.width),
    ...fused(`${file}.mlp`, `${at}.up`, d.width, { gate_proj: d.ffn, up_proj: d.ffn }, d.bias.mlp),
    ...fused(`${file}.mlp`, `${at}.down`, d.ffn, { down_proj: d.width }, d.bias.mlp),
  ];
}

/** Projections of the same input, stacked by rows in the given order. */
function fused(
  file: string,
  parameter: string,
  input: number,
  outputs: Readonly<Record<string, number>>,
  bias: boolean,
): FileTensor[] {
  const tensors: FileTensor[] = [];
  let row = 0;
  for (const [name, rows] of Object.entries(outputs)) {
    tensors.push({ name: `${file}.${name}.weight`, shape: [rows, input], parameter, offset: row * input });
    if (bias)
      tensors.push({ name: `${file}.${name}.bias`, shape: [rows], parameter: `${parameter}.bias`, offset: row });
    row += rows;
  }
  return tensors;
}

/** Old files carry the rotary table as a buffer; a tied head may be there as a copy of the embedding. */
export function isRedundantInRotaryDecoder(name: string, d: DecoderDescription): boolean {
  return name.endsWith(".rotary_emb.inv_freq") || (d.tiedHead && name === "lm_head.weight");
}
