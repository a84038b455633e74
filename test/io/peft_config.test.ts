// Plan: what PEFT writes is read; what is written is read back; options that would change the result are refused by name.
import { describe, expect, it } from "vitest";
import { parsePeftConfig, peftConfigJson } from "../../src/io/peft_config.ts";

/** As peft 0.18 saves a LoraConfig. */
const saved = {
  alora_invocation_tokens: null,
  alpha_pattern: {},
  auto_mapping: null,
  base_model_name_or_path: "Qwen/Qwen3-0.6B",
  bias: "none",
  corda_config: null,
  eva_config: null,
  exclude_modules: null,
  fan_in_fan_out: false,
  inference_mode: true,
  init_lora_weights: true,
  layer_replication: null,
  layers_pattern: null,
  layers_to_transform: null,
  loftq_config: {},
  lora_alpha: 32,
  lora_bias: false,
  lora_dropout: 0.05,
  megatron_config: null,
  megatron_core: "megatron.core",
  modules_to_save: null,
  peft_type: "LORA",
  qalora_group_size: 16,
  r: 8,
  rank_pattern: {},
  revision: null,
  target_modules: ["v_proj", "q_proj"],
  target_parameters: null,
  task_type: "CAUSAL_LM",
  trainable_token_indices: null,
  use_dora: false,
  use_qalora: false,
  use_rslora: false,
};

describe("adapter_config.json", () => {
  it("is read as PEFT writes it", () => {
    expect(parsePeftConfig(saved)).toEqual({
      lora: { rank: 8, alpha: 32, targets: ["v_proj", "q_proj"], rslora: false },
      base: "Qwen/Qwen3-0.6B",
    });
    expect(parsePeftConfig({ ...saved, target_modules: "all-linear", base_model_name_or_path: null })).toMatchObject({
      lora: { targets: "all-linear" },
      base: "",
    });
  });

  it("is read back as written", () => {
    const config = { lora: { rank: 4, alpha: 8, targets: ["q_proj"], rslora: true }, base: "/models/base" };
    expect(parsePeftConfig(JSON.parse(JSON.stringify(peftConfigJson(config, false))))).toEqual(config);
    expect(peftConfigJson(config, true).fan_in_fan_out).toBe(true);
  });

  for (const [change, message] of [
    [{ peft_type: "IA3" }, 'adapter_config.json has peft_type "IA3".'],
    [{ bias: "all" }, 'adapter_config.json has bias "all".'],
    [{ use_dora: true }, "adapter_config.json has use_dora true."],
    [{ modules_to_save: ["lm_head"] }, 'adapter_config.json has modules_to_save ["lm_head"].'],
    [{ layers_to_transform: [0] }, "adapter_config.json has layers_to_transform [0]."],
    [{ rank_pattern: { q_proj: 4 } }, 'adapter_config.json has rank_pattern {"q_proj":4}.'],
    [{ init_lora_weights: "pissa" }, 'adapter_config.json has init_lora_weights "pissa".'],
    [{ r: 0 }, /^adapter_config\.json has r 0 \(/],
    [{ target_modules: ".*_proj" }, /^adapter_config\.json has target_modules "\.\*_proj" \(/],
  ] as const) {
    it(`is refused with ${JSON.stringify(change)}`, () => {
      expect(() => parsePeftConfig({ ...saved, ...change })).toThrow(message);
    });
  }

  it("is refused when it is no object", () => {
    expect(() => parsePeftConfig([])).toThrow("adapter_config.json is not a JSON object.");
  });
});
