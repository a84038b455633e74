import { ConfigFields } from "./config_fields.ts";
import type { Family } from "./family.ts";
import { describeRotaryDecoder, isRedundantInRotaryDecoder, rotaryDecoderTensors } from "./rotary_decoder.ts";

/** Gemma 1: zero-centred RMSNorm weights, embedding times sqrt(C), gated tanh GELU, tied head. */
export const gemma: Family = {
  name: "gemma",
  modelTypes: ["gemma"],
  architectures: ["GemmaForCausalLM"],
  prefix: "model.",
  describe(config) {
    const fields = new ConfigFields(config, "gemma");
    const attentionBias = fields.flag("attention_bias", false);
    // The first releases wrote hidden_act "gelu" and meant the tanh form; hidden_activation came to say so.
    const key = fields.get("hidden_activation") === undefined ? "hidden_act" : "hidden_activation";
    const activation = fields.activation(key, "gelu_pytorch_tanh");
    return describeRotaryDecoder(fields, {
      qkvBias: attentionBias,
      attentionOutBias: attentionBias,
      mlpBias: false,
      headNorm: false,
      tiedByDefault: true,
      normShift: 1,
      activation: activation === "gelu" ? "gelu_tanh" : activation,
      embeddingScale: Math.sqrt(fields.count("hidden_size")),
    });
  },
  tensors: rotaryDecoderTensors,
  isRedundant: isRedundantInRotaryDecoder,
};
