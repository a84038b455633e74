import { ConfigFields } from "./config_fields.ts";
import type { Family } from "./family.ts";
import { describeRotaryDecoder, isRedundantInRotaryDecoder, rotaryDecoderTensors } from "./rotary_decoder.ts";

/** Qwen2 and Qwen2.5: Llama with biases on q, k and v. */
export const qwen2: Family = {
  name: "qwen2",
  modelTypes: ["qwen2"],
  architectures: ["Qwen2ForCausalLM"],
  prefix: "model.",
  describe(config) {
    const fields = new ConfigFields(config, "qwen2");
    return describeRotaryDecoder(fields, {
      qkvBias: true,
      attentionOutBias: false,
      mlpBias: false,
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
