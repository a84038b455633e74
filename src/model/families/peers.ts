import { qkvWidth } from "../decoder.ts";
import { ConfigFields } from "./config_fields.ts";
import type { Family, FileTensor } from "./family.ts";

/**
 * The small GPT on which Leyden's training step is compared with other WebGPU libraries: RMSNorm (eps 1e-5), learned
 * positions, tanh GELU, no biases, tied head, matrices as (in, out).
 */
export const peers: Family = {
  name: "leyden-peers",
  modelTypes: ["leyden-peers"],
  architectures: ["LeydenPeersForCausalLM"],
  prefix: "model.",
  describe(config) {
    const fields = new ConfigFields(config, "leyden-peers");
    const width = fields.count("hidden_size");
    const heads = fields.count("num_attention_heads");
    if (width % heads !== 0) throw fields.fault("hidden_size", width, `a multiple of ${heads} heads`);
    return {
      family: "leyden-peers",
      vocabSize: fields.count("vocab_size"),
      width,
      layers: fields.count("num_hidden_layers"),
      heads,
      kvHeads: heads,
      headDim: width / heads,
      ffn: fields.count("intermediate_size"),
      contextLength: fields.count("max_position_embeddings"),
      norm: { kind: "rms", eps: fields.number("rms_norm_eps", 1e-5), shift: 0 },
      headNorm: false,
      activation: { kind: "gelu_tanh", gated: false },
      positions: { kind: "learned" },
      bias: { qkv: false, attentionOut: false, mlp: false },
      tiedHead: true,
      embeddingScale: 1,
      attentionScale: (width / heads) ** -0.5,
      weightLayout: "in_out",
      init: { std: fields.number("initializer_range", 0.02), residualScaled: false },
    };
  },
  tensors(d) {
    const whole = (name: string, parameter: string, shape: number[]): FileTensor => ({
      name: `model.${name}.weight`,
      shape,
      parameter,
      offset: 0,
    });
    const layer = (i: number): FileTensor[] => [
      whole(`layers.${i}.ln1`, `layers.${i}.norm1`, [d.width]),
      whole(`layers.${i}.wqkv`, `layers.${i}.qkv`, [d.width, qkvWidth(d)]),
      whole(`layers.${i}.wo`, `layers.${i}.out`, [d.width, d.width]),
      whole(`layers.${i}.ln2`, `layers.${i}.norm2`, [d.width]),
      whole(`layers.${i}.w1`, `layers.${i}.up`, [d.width, d.ffn]),
      whole(`layers.${i}.w2`, `layers.${i}.down`, [d.ffn, d.width]),
    ];
    return [
      whole("wte", "embed", [d.vocabSize, d.width]),
      whole("wpe", "positions", [d.contextLength, d.width]),
      ...Array.from({ length: d.layers }, (_, i) => layer(i)).flat(),
      whole("lnf", "norm", [d.width]),
    ];
  },
  isRedundant: (name) => name === "lm_head.weight",
};
