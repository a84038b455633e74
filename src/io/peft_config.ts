import { FormatError } from "../core/errors.ts";
import type { Files } from "../schema/files.ts";
import { type LoraConfig, loraSchema } from "../schema/lora.ts";
import { readJson } from "./json_file.ts";

/** Names of the two files of a PEFT adapter folder. */
export const adapterFiles = { config: "adapter_config.json", weights: "adapter_model.safetensors" } as const;

/** An adapter_config.json: the form of its pairs, and the model they belong to. */
export interface PeftConfig {
  readonly lora: LoraConfig;
  /** base_model_name_or_path: a folder or a hub name; empty when the file has none. */
  readonly base: string;
}

/** Keys that change what an adapter computes, with the values under which they do not. */
const neutral: Readonly<Record<string, readonly unknown[]>> = {
  bias: ["none"],
  use_dora: [false],
  lora_bias: [false],
  modules_to_save: [],
  layers_to_transform: [],
  layers_pattern: [],
  exclude_modules: [],
  rank_pattern: [],
  alpha_pattern: [],
  target_parameters: [],
  trainable_token_indices: [],
  alora_invocation_tokens: [],
  use_qalora: [false],
  layer_replication: [],
  megatron_config: [],
  // Other ways to start change the base weights, which an adapter's folder does not hold.
  init_lora_weights: [true, false, "gaussian", "eva", "orthogonal"],
};

/**
 * Reads a parsed adapter_config.json as PEFT writes it for LoRA.
 * @throws FormatError "adapter_config" for another kind of adapter, or an option that would be ignored
 */
export function parsePeftConfig(json: unknown, name: string = adapterFiles.config): PeftConfig {
  if (typeof json !== "object" || json === null || Array.isArray(json)) {
    throw fault(name, "is not a JSON object", "Pass a PEFT adapter folder.");
  }
  const config = json as Record<string, unknown>;
  if (config.peft_type !== "LORA") {
    throw fault(
      name,
      `has peft_type ${JSON.stringify(config.peft_type)}`,
      "Use a LoRA adapter; others are not supported.",
    );
  }
  for (const [key, values] of Object.entries(neutral)) {
    const value = config[key];
    if (value === undefined || value === null || values.includes(value) || isEmpty(value)) continue;
    throw fault(name, `has ${key} ${JSON.stringify(value)}`, `Use an adapter without ${key}; it would be ignored.`);
  }
  const lora = loraSchema.safeParse({
    rank: config.r,
    alpha: config.lora_alpha,
    targets: config.target_modules,
    rslora: config.use_rslora ?? false,
  });
  if (!lora.success) {
    const { path, message } = lora.error.issues[0] ?? { path: [], message: "" };
    const key = { rank: "r", alpha: "lora_alpha", targets: "target_modules" }[String(path[0])] ?? "use_rslora";
    const advice = "Give r, lora_alpha and target_modules (a list of names, or all-linear) as PEFT writes them.";
    throw fault(name, `has ${key} ${JSON.stringify(config[key])} (${message})`, advice);
  }
  const base = config.base_model_name_or_path;
  return { lora: lora.data, base: typeof base === "string" ? base : "" };
}

/** An adapter_config.json that PEFT loads. `transposed`: the base stores its matrices as (in, out), like GPT-2. */
export function peftConfigJson({ lora, base }: PeftConfig, transposed: boolean): Record<string, unknown> {
  return {
    peft_type: "LORA",
    task_type: "CAUSAL_LM",
    base_model_name_or_path: base === "" ? null : base,
    r: lora.rank,
    lora_alpha: lora.alpha,
    lora_dropout: 0,
    target_modules: lora.targets,
    use_rslora: lora.rslora,
    use_dora: false,
    bias: "none",
    fan_in_fan_out: transposed,
    inference_mode: true,
    init_lora_weights: true,
    modules_to_save: null,
  };
}

/** The adapter_config.json of a folder; null where there is none. @throws FormatError as `parsePeftConfig` */
export async function readPeftConfig(files: Files, folder: string): Promise<PeftConfig | null> {
  const path = files.join(folder, adapterFiles.config);
  return (await files.exists(path)) ? parsePeftConfig(await readJson(files, path), path) : null;
}

function isEmpty(value: unknown): boolean {
  if (Array.isArray(value)) return value.length === 0;
  return typeof value === "object" && value !== null && Object.keys(value).length === 0;
}

function fault(name: string, what: string, advice: string): FormatError {
  return new FormatError("adapter_config", `${name} ${what}.`, { do: advice, data: { file: name } });
}
