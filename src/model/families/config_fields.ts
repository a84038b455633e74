import { FormatError } from "../../core/errors.ts";
import type { HfConfig } from "../../io/hf_config.ts";
import type { ActivationDescription, PositionDescription, RotaryScaling } from "../decoder.ts";

/** Checked access to the fields of a config.json. */
export class ConfigFields {
  readonly config: HfConfig;
  readonly family: string;

  constructor(config: HfConfig, family: string) {
    this.config = config;
    this.family = family;
  }

  /** The field's value; null counts as absent. */
  get(key: string): unknown {
    return this.config.raw[key] ?? undefined;
  }

  /** A positive integer. @throws FormatError "model_config" */
  count(key: string, fallback?: number): number {
    const value = this.get(key) ?? fallback;
    if (Number.isSafeInteger(value) && (value as number) > 0) return value as number;
    throw this.fault(key, value, "a positive integer");
  }

  /** A finite number. @throws FormatError "model_config" */
  number(key: string, fallback: number): number {
    const value = this.get(key) ?? fallback;
    if (typeof value === "number" && Number.isFinite(value)) return value;
    throw this.fault(key, value, "a number");
  }

  /** @throws FormatError "model_config" */
  flag(key: string, fallback: boolean): boolean {
    const value = this.get(key) ?? fallback;
    if (typeof value === "boolean") return value;
    throw this.fault(key, value, "true or false");
  }

  /** The MLP's function by the name Hugging Face gives it. @throws FormatError "model_unsupported" */
  activation(key: string, fallback: string): ActivationDescription["kind"] {
    const name = this.get(key) ?? fallback;
    const kind = activations[String(name)];
    if (kind !== undefined) return kind;
    throw this.unsupported(`${key} ${JSON.stringify(name)}`, `Supported: ${Object.keys(activations).join(", ")}.`);
  }

  /** Rotary positions; configs without any rotary field mean theta 10000. @throws FormatError */
  rotary(headDim: number): PositionDescription {
    const { rope, ropeByLayerType } = this.config;
    if (ropeByLayerType !== null) {
      throw this.unsupported("rope_parameters per layer type", "All layers must share one rotary setting.");
    }
    const rotaryDim = Math.floor(headDim * (rope?.partialRotaryFactor ?? 1));
    if (rotaryDim < 2 || rotaryDim > headDim || rotaryDim % 2 !== 0) {
      throw this.fault(
        "partial_rotary_factor",
        rope?.partialRotaryFactor,
        `such that an even number of ${headDim} rotates`,
      );
    }
    const theta = rope?.theta ?? 10000;
    if (!(theta > 0 && Number.isFinite(theta))) throw this.fault("rope_theta", theta, "a positive number");
    return { kind: "rotary", rotaryDim, theta, scaling: this.rotaryScaling() };
  }

  /** @throws FormatError "model_unsupported" when `isActive` */
  refuse(isActive: boolean, option: string, advice: string): void {
    if (isActive) throw this.unsupported(option, advice);
  }

  fault(key: string, value: unknown, wanted: string): FormatError {
    const got = value === undefined ? "it is missing" : `it is ${JSON.stringify(value)}`;
    return new FormatError("model_config", `config.json of family ${this.family}: ${key} must be ${wanted}; ${got}.`, {
      do: `Correct ${key} in config.json.`,
      data: { family: this.family, key, value },
    });
  }

  unsupported(option: string, advice: string): FormatError {
    return new FormatError("model_unsupported", `Family ${this.family} is supported, but not with ${option}.`, {
      do: advice,
      data: { family: this.family, option },
    });
  }

  private rotaryScaling(): RotaryScaling {
    const rope = this.config.rope;
    const field = (name: string, value: number | undefined): number => {
      if (value === undefined || !(value > 0)) throw this.fault(`rope ${name}`, value, "a positive number");
      return value;
    };
    switch (rope?.type ?? "default") {
      case "default":
        return { kind: "default" };
      case "linear":
        return { kind: "linear", factor: field("factor", rope?.factor) };
      case "llama3":
        return {
          kind: "llama3",
          factor: field("factor", rope?.factor),
          lowFreqFactor: field("low_freq_factor", rope?.lowFreqFactor),
          highFreqFactor: field("high_freq_factor", rope?.highFreqFactor),
          originalContextLength: field("original_max_position_embeddings", rope?.originalMaxPositionEmbeddings),
        };
      default:
        throw this.unsupported(`rope type "${rope?.type}"`, "Supported: default, linear, llama3.");
    }
  }
}

const activations: Readonly<Record<string, ActivationDescription["kind"]>> = {
  silu: "silu",
  swish: "silu",
  gelu: "gelu",
  gelu_new: "gelu_tanh",
  gelu_fast: "gelu_tanh",
  gelu_pytorch_tanh: "gelu_tanh",
};

/** Options of other architectures that a config may carry; a model that uses one would compute something else. */
export function refuseForeignOptions(fields: ConfigFields): void {
  const { raw } = fields.config;
  const isOn = (value: unknown): boolean => value !== undefined && value !== null && value !== false;
  const advice = "Use a checkpoint without it.";
  for (const key of ["quantization_config", "attn_logit_softcapping", "final_logit_softcapping", "attn_output_gate"]) {
    fields.refuse(isOn(raw[key]), key, advice);
  }
  for (const key of ["num_local_experts", "num_experts", "n_routed_experts"]) {
    fields.refuse(typeof raw[key] === "number" && (raw[key] as number) > 1, `${key} ${raw[key]}`, advice);
  }
  for (const key of ["embedding_multiplier", "residual_multiplier", "attention_multiplier", "logits_scaling"]) {
    fields.refuse(isOn(raw[key]) && raw[key] !== 1, `${key} ${raw[key]}`, advice);
  }
  const layerTypes = Array.isArray(raw.layer_types) ? raw.layer_types : [];
  const other = layerTypes.find((type) => type !== "full_attention");
  fields.refuse(other !== undefined, `layer type ${JSON.stringify(other)}`, "Every layer must be full_attention.");
}

/** Sliding windows that would hide tokens inside the context. Source: the Qwen2 configuration of transformers. */
export function refuseSlidingWindow(fields: ConfigFields, layers: number, contextLength: number): void {
  const { sliding_window: window, use_sliding_window: used, max_window_layers: from } = fields.config.raw;
  const firstWindowed = typeof from === "number" ? from : 28;
  const active = used === true && typeof window === "number" && window < contextLength && firstWindowed < layers;
  fields.refuse(
    active,
    `sliding_window ${window} inside a context of ${contextLength}`,
    "Set use_sliding_window to false or max_position_embeddings to at most the window.",
  );
}
