import { ConfigFields } from "./config_fields.ts";
import type { Family } from "./family.ts";
import { describeRotaryDecoder, isRedundantInRotaryDecoder, rotaryDecoderTensors } from "./rotary_decoder.ts";

/** Qwen3 (dense): Llama with an RMSNorm on every q and k head; `head_dim` is 128 where the config leaves it out. */
export const qwen3: Family = {
  name: "qwen3",
  modelTypes: ["qwen3"],
  architectures: ["Qwen3ForCausalLM"],
  prefix: "model.",
  describe(config) {
    const withHeadDim = { ...config, raw: { ...config.raw, head_dim: config.raw.head_dim ?? 128 } };
    const fields = new ConfigFields(withHeadDim, "qwen3");
    const attentionBias = fields.flag("attention_bias", false);
    return describeRotaryDecoder(fields, {
      qkvBias: attentionBias,
      attentionOutBias: attentionBias,
      mlpBias: false,
      headNorm: true,
      tiedByDefault: false,
      normShift: 0,
      activation: fields.activation("hidden_act", "silu"),
      embeddingScale: 1,
    });
  },
  tensors: rotaryDecoderTensors,
  isRedundant: isRedundantInRotaryDecoder,
};
