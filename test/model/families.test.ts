// Plan: each family's description from both config styles; tensors of a saved model tile the parameters exactly; what
// cannot be computed is refused by name.
import { describe, expect, it } from "vitest";
import { sizeOf } from "../../src/core/shape.ts";
import { parseHfConfig } from "../../src/io/hf_config.ts";
import type { DecoderDescription } from "../../src/model/decoder.ts";
import { familyOf } from "../../src/model/families/registry.ts";
import { parameterSpecs } from "../../src/model/parameter_layout.ts";
import { allConfigs, gemmaConfig, gpt2Config, llamaConfig, peersConfig, qwen2Config, qwen3Config } from "./configs.ts";

function describeConfig(json: Record<string, unknown>): DecoderDescription {
  const config = parseHfConfig(json);
  return familyOf(config).describe(config);
}

describe("families", () => {
  it("describes a Llama", () => {
    expect(describeConfig(llamaConfig)).toEqual({
      family: "llama",
      vocabSize: 40,
      width: 16,
      layers: 2,
      heads: 4,
      kvHeads: 2,
      headDim: 8,
      ffn: 24,
      contextLength: 64,
      norm: { kind: "rms", eps: 1e-5, shift: 0 },
      headNorm: false,
      activation: { kind: "silu", gated: true },
      positions: { kind: "rotary", rotaryDim: 8, theta: 10000, scaling: { kind: "default" } },
      bias: { qkv: false, attentionOut: false, mlp: false },
      tiedHead: false,
      embeddingScale: 1,
      attentionScale: 8 ** -0.5,
      weightLayout: "out_in",
      init: { std: 0.02, residualScaled: false },
    });
  });

  it("reads the newer config style alike", () => {
    const { rope_theta: theta, rope_scaling: _, torch_dtype: dtype, ...rest } = llamaConfig;
    const newer = { ...rest, dtype, rope_parameters: { rope_type: "default", rope_theta: theta } };
    expect(describeConfig(newer)).toEqual(describeConfig(llamaConfig));
  });

  it("knows what each family adds", () => {
    expect(describeConfig(qwen2Config)).toMatchObject({
      bias: { qkv: true, attentionOut: false },
      headDim: 4,
      tiedHead: true,
    });
    expect(describeConfig(qwen3Config)).toMatchObject({ headNorm: true, bias: { qkv: false } });
    expect(describeConfig({ ...qwen3Config, head_dim: undefined })).toMatchObject({ headDim: 128 });
    expect(describeConfig(gemmaConfig)).toMatchObject({
      embeddingScale: 4,
      norm: { shift: 1 },
      activation: { kind: "gelu_tanh", gated: true },
    });
    expect(describeConfig({ ...gemmaConfig, hidden_activation: undefined })).toMatchObject({
      activation: { kind: "gelu_tanh" },
    });
    expect(describeConfig(gpt2Config)).toMatchObject({
      weightLayout: "in_out",
      ffn: 48,
      tiedHead: true,
      norm: { kind: "layer" },
      positions: { kind: "learned" },
      activation: { kind: "gelu_tanh", gated: false },
      init: { residualScaled: true },
    });
    expect(describeConfig(peersConfig)).toMatchObject({
      norm: { kind: "rms", eps: 1e-5 },
      positions: { kind: "learned" },
    });
  });

  it("reads rope scaling and partial rotation", () => {
    const linear = describeConfig({ ...llamaConfig, rope_scaling: { type: "linear", factor: 2 } });
    expect(linear.positions).toMatchObject({ scaling: { kind: "linear", factor: 2 } });
    const llama3 = {
      rope_type: "llama3",
      factor: 8,
      low_freq_factor: 1,
      high_freq_factor: 4,
      original_max_position_embeddings: 32,
    };
    expect(describeConfig({ ...llamaConfig, rope_scaling: llama3 }).positions).toMatchObject({
      scaling: { kind: "llama3", factor: 8, lowFreqFactor: 1, highFreqFactor: 4, originalContextLength: 32 },
    });
    expect(describeConfig({ ...llamaConfig, partial_rotary_factor: 0.5 }).positions).toMatchObject({ rotaryDim: 4 });
  });

  for (const json of allConfigs) {
    it(`tiles every parameter of ${json.model_type} by named tensors`, () => {
      const config = parseHfConfig(json);
      const family = familyOf(config);
      const description = family.describe(config);
      const tensors = family.tensors(description);
      expect(new Set(tensors.map((t) => t.name)).size).toBe(tensors.length);
      expect(tensors.every((t) => t.name === "lm_head.weight" || t.name.startsWith(family.prefix))).toBe(true);
      for (const spec of parameterSpecs(description)) {
        const parts = tensors.filter((t) => t.parameter === spec.name).sort((a, b) => a.offset - b.offset);
        let end = 0;
        for (const part of parts) {
          expect(part.offset, part.name).toBe(end);
          end += sizeOf(part.shape);
        }
        expect(end, spec.name).toBe(sizeOf(spec.shape));
      }
      const known = new Set(parameterSpecs(description).map((s) => s.name));
      expect(tensors.filter((t) => !known.has(t.parameter))).toEqual([]);
    });
  }

  const refused: [string, Record<string, unknown>, string][] = [
    ["an unknown type", { ...llamaConfig, model_type: "mamba" }, 'Models of type "mamba" are not supported.'],
    [
      "another head",
      { ...llamaConfig, architectures: ["LlamaForSequenceClassification"] },
      "Family llama is supported as LlamaForCausalLM, not as LlamaForSequenceClassification.",
    ],
    [
      "an active sliding window",
      { ...qwen2Config, use_sliding_window: true, sliding_window: 8, max_window_layers: 0 },
      "Family qwen2 is supported, but not with sliding_window 8 inside a context of 64.",
    ],
    [
      "layers of other types",
      { ...qwen3Config, layer_types: ["full_attention", "sliding_attention"] },
      'Family qwen3 is supported, but not with layer type "sliding_attention".',
    ],
    ["experts", { ...llamaConfig, num_experts: 8 }, "Family llama is supported, but not with num_experts 8."],
    [
      "soft-capped logits",
      { ...gemmaConfig, final_logit_softcapping: 30 },
      "Family gemma is supported, but not with final_logit_softcapping.",
    ],
    ["yarn", { ...llamaConfig, rope_scaling: { type: "yarn", factor: 4 } }, 'not with rope type "yarn"'],
    ["quantised weights", { ...llamaConfig, quantization_config: { bits: 4 } }, "not with quantization_config"],
    ["relu", { ...llamaConfig, hidden_act: "relu" }, 'not with hidden_act "relu"'],
    [
      "cross attention",
      { ...gpt2Config, add_cross_attention: true },
      "Family gpt2 is supported, but not with add_cross_attention true.",
    ],
    [
      "a missing width",
      { ...llamaConfig, hidden_size: undefined },
      "config.json of family llama: hidden_size must be a positive integer; it is missing.",
    ],
    [
      "heads that do not divide",
      { ...llamaConfig, num_key_value_heads: 3 },
      "config.json of family llama: num_key_value_heads must be a divisor of 4 heads; it is 3.",
    ],
    [
      "a factor that is missing",
      { ...llamaConfig, rope_scaling: { type: "linear" } },
      "config.json of family llama: rope factor must be a positive number; it is missing.",
    ],
    [
      "a rotation of no base",
      { ...llamaConfig, rope_theta: -1 },
      "config.json of family llama: rope_theta must be a positive number; it is -1.",
    ],
  ];
  for (const [what, json, message] of refused) {
    it(`refuses ${what}`, () => expect(() => describeConfig(json)).toThrow(message));
  }

  it("accepts a sliding window no layer uses", () => {
    const unused = { ...qwen2Config, use_sliding_window: true, sliding_window: 8, max_window_layers: 28 };
    expect(describeConfig(unused).layers).toBe(2);
  });

  it("names the supported types when it refuses one", () => {
    try {
      describeConfig({ ...llamaConfig, model_type: "mamba" });
    } catch (error) {
      expect((error as { do: string }).do).toContain("llama, qwen2, qwen3, gemma, gpt2, leyden-peers");
      return;
    }
    throw new Error("not refused");
  });

  it("tells buffers and the copy of a tied head from weights", () => {
    const d = describeConfig(gpt2Config);
    const family = familyOf(parseHfConfig(gpt2Config));
    const redundant = ["transformer.h.0.attn.bias", "transformer.h.0.attn.masked_bias", "lm_head.weight"];
    expect(redundant.every((n) => family.isRedundant(n, d))).toBe(true);
    expect(family.isRedundant("transformer.h.0.attn.c_attn.bias", d)).toBe(false);
    expect(family.isRedundant("lm_head.weight", { ...d, tiedHead: false })).toBe(false);
  });
});
