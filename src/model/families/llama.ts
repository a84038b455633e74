import { ConfigFields } from "./config_fields.ts";
import type { Family } from "./family.ts";
import { describeRotaryDecoder, isRedundantInRotaryDecoder, rotaryDecoderTensors } from "./rotary_decoder.ts";

/** Llama 1 to 3 and models saved in its form; `attention_bias` covers all four projections. */
export const llama: Family = {
  name: "llama",
  modelTypes: ["llama"],
  architectures: ["LlamaForCausalLM"],
  prefix: "model.",
  describe(config) {
    const fields = new ConfigFields(config, "llama");
    const attentionBias = fields.flag("attention_bias", false);
    return describeRotaryDecoder(fields, {
      qkvBias: attentionBias,
      attentionOutBias: attentionBias,
      mlpBias: fields.flag("mlp_bias", false),
      headNorm: false,
      tiedByDefault: false,
      normShift: 0,
      activation: fields.activation("hidden_act", "silu"),
      embeddingScale: 1,
    });
  },
  tensors: rotaryDecoderTensors,
  isRedundant: isRedundantInRotaryDecoder,
};
