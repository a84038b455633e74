import { describe, expect, it } from "vitest";
import { parseHfConfig } from "../../src/io/hf_config.ts";

const llama3 = { factor: 8, low_freq_factor: 1, high_freq_factor: 4, original_max_position_embeddings: 64 };

describe("config.json", () => {
  it("says the same in the styles of transformers 4 and 5", () => {
    const v4 = parseHfConfig({
      model_type: "llama",
      architectures: ["LlamaForCausalLM"],
      rope_theta: 500000,
      rope_scaling: { ...llama3, rope_type: "llama3" },
      torch_dtype: "bfloat16",
      eos_token_id: [1, 2],
    });
    const v5 = parseHfConfig({
      model_type: "llama",
      architectures: ["LlamaForCausalLM"],
      rope_parameters: { ...llama3, rope_type: "llama3", rope_theta: 500000 },
      dtype: "bfloat16",
      eos_token_id: [1, 2],
    });
    const expected = {
      modelType: "llama",
      architectures: ["LlamaForCausalLM"],
      dtype: "BF16",
      rope: {
        type: "llama3",
        theta: 500000,
        factor: 8,
        lowFreqFactor: 1,
        highFreqFactor: 4,
        originalMaxPositionEmbeddings: 64,
        partialRotaryFactor: 1,
      },
      ropeByLayerType: null,
      eosTokenIds: [1, 2],
      bosTokenId: null,
      tieWordEmbeddings: null,
    };
    expect(v4).toMatchObject(expected);
    expect(v5).toMatchObject(expected);
  });

  it("has default rotary settings where only the base is given, and none where nothing is", () => {
    expect(parseHfConfig({ model_type: "llama", rope_theta: 10, rope_scaling: null }).rope).toMatchObject({
      type: "default",
      theta: 10,
      partialRotaryFactor: 1,
    });
    expect(parseHfConfig({ model_type: "gpt2" }).rope).toBeNull();
  });

  it("reads the older key of the rotary type, and partial rotation", () => {
    const config = parseHfConfig({
      model_type: "phi",
      rope_theta: 10000,
      rope_scaling: { type: "linear", factor: 2 },
      partial_rotary_factor: 0.5,
    });
    expect(config.rope).toMatchObject({ type: "linear", factor: 2, partialRotaryFactor: 0.5 });
  });

  it("keeps rotary settings by layer type", () => {
    const config = parseHfConfig({
      model_type: "gemma3_text",
      rope_parameters: {
        full_attention: { rope_type: "linear", factor: 8, rope_theta: 1e6 },
        sliding_attention: { rope_type: "default", rope_theta: 1e4 },
      },
    });
    expect(config.ropeByLayerType?.full_attention).toMatchObject({ type: "linear", theta: 1e6, factor: 8 });
    expect(config.ropeByLayerType?.sliding_attention).toMatchObject({ type: "default", theta: 1e4 });
  });

  it("knows no type for weights it could not write", () => {
    expect(parseHfConfig({ model_type: "x", dtype: "float8_e4m3fn" }).dtype).toBeNull();
    expect(parseHfConfig({ model_type: "x" }).dtype).toBeNull();
    expect(parseHfConfig({ model_type: "x", torch_dtype: "torch.float16" }).dtype).toBe("F16");
  });

  it.each<[unknown, string]>([
    [[], "config.json is not a JSON object."],
    [{ model_type: 3 }, "config.json has model_type 3."],
    [{ model_type: "llama", rope_theta: "1e6" }, 'config.json has rope_theta "1e6".'],
    [{ model_type: "llama", rope_scaling: "yarn" }, 'config.json has rope settings "yarn".'],
    [{ model_type: "llama", rope_scaling: { rope_type: 1 } }, "config.json has rope type 1."],
  ])("refuses %j", (json, message) => {
    expect(() => parseHfConfig(json)).toThrow(message);
  });
});
