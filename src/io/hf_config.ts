import type { FileDType } from "../core/dtype.ts";
import { FormatError } from "../core/errors.ts";

/** Rotary position settings, whichever style of config.json they came from. Factors absent there are absent here. */
export interface RopeParameters {
  /** default, linear, dynamic, llama3, yarn, longrope, ... */
  type: string;
  /** Base of the frequencies. */
  theta: number;
  factor?: number;
  lowFreqFactor?: number;
  highFreqFactor?: number;
  originalMaxPositionEmbeddings?: number;
  /** Share of each head's dimensions that rotate; 1 rotates all. */
  partialRotaryFactor: number;
  /** Every key as the file has it. */
  raw: Readonly<Record<string, unknown>>;
}

/** A model folder's config.json with the fields that differ between styles brought to one form. */
export interface HfConfig {
  modelType: string;
  architectures: readonly string[];
  /** Type the weights were saved in, when the config states one of those we can write. */
  dtype: FileDType | null;
  /** Null when the config has no rotary settings (learned positions). */
  rope: RopeParameters | null;
  /** Rotary settings by layer type, for models that have several. */
  ropeByLayerType: Readonly<Record<string, RopeParameters>> | null;
  /** Ids that end a text. */
  eosTokenIds: readonly number[];
  bosTokenId: number | null;
  /** Null when the file does not say; the family's own default then holds (they differ). */
  tieWordEmbeddings: boolean | null;
  /** The whole JSON object. */
  raw: Readonly<Record<string, unknown>>;
}

type Json = Readonly<Record<string, unknown>>;

const dtypeNames: Readonly<Record<string, FileDType>> = {
  float32: "F32",
  float16: "F16",
  bfloat16: "BF16",
};

/**
 * Reads a parsed config.json of either style: rope_theta, rope_scaling, torch_dtype (transformers 4) or
 * rope_parameters, dtype (transformers 5).
 * @throws FormatError "config_json" when a field that decides the model has the wrong kind
 */
export function parseHfConfig(json: unknown, name = "config.json"): HfConfig {
  if (!isRecord(json)) throw fault(name, "is not a JSON object", "Pass a Hugging Face config.json.");
  const modelType = json.model_type;
  if (typeof modelType !== "string") {
    throw fault(name, `has model_type ${JSON.stringify(modelType)}`, "Give model_type the family's name.");
  }
  const architectures = Array.isArray(json.architectures)
    ? json.architectures.filter((a): a is string => typeof a === "string")
    : [];
  const byLayer = ropeByLayerType(json, name);
  return {
    modelType,
    architectures,
    dtype: dtypeNames[String(json.dtype ?? json.torch_dtype).replace(/^torch\./, "")] ?? null,
    rope: byLayer ? (Object.values(byLayer)[0] ?? null) : ropeParameters(json, name),
    ropeByLayerType: byLayer,
    eosTokenIds: idList(json.eos_token_id),
    bosTokenId: idList(json.bos_token_id)[0] ?? null,
    tieWordEmbeddings: typeof json.tie_word_embeddings === "boolean" ? json.tie_word_embeddings : null,
    raw: json,
  };
}

/** A token id or a list of them, as config.json and generation_config.json write eos_token_id; nothing else counts. */
export function idList(value: unknown): number[] {
  const list = Array.isArray(value) ? value : [value];
  return list.filter((id): id is number => Number.isSafeInteger(id) && id >= 0);
}

/** transformers 5 writes one object per layer type when layers differ: every value is then an object. */
function ropeByLayerType(json: Json, name: string): Record<string, RopeParameters> | null {
  const nested = json.rope_parameters;
  if (!isRecord(nested)) return null;
  const entries = Object.entries(nested);
  if (entries.length === 0 || !entries.every(([, value]) => isRecord(value))) return null;
  return Object.fromEntries(entries.map(([layer, value]) => [layer, readRope(json, value as Json, name)]));
}

function ropeParameters(json: Json, name: string): RopeParameters | null {
  const settings = json.rope_parameters ?? json.rope_scaling;
  if (isRecord(settings)) return readRope(json, settings, name);
  if (settings !== null && settings !== undefined) {
    throw fault(name, `has rope settings ${JSON.stringify(settings)}`, "Make them an object or null.");
  }
  return json.rope_theta === undefined ? null : readRope(json, {}, name);
}

function readRope(json: Json, settings: Json, name: string): RopeParameters {
  const type = settings.rope_type ?? settings.type ?? "default";
  if (typeof type !== "string") throw fault(name, `has rope type ${JSON.stringify(type)}`, "Make it a name.");
  const number = (key: string, ...sources: Json[]): number | undefined => {
    for (const source of sources) {
      const value = source[key];
      if (value === undefined || value === null) continue;
      if (typeof value !== "number") throw fault(name, `has ${key} ${JSON.stringify(value)}`, "Make it a number.");
      return value;
    }
    return undefined;
  };
  return {
    type,
    theta: number("rope_theta", settings, json) ?? 10000,
    factor: number("factor", settings),
    lowFreqFactor: number("low_freq_factor", settings),
    highFreqFactor: number("high_freq_factor", settings),
    originalMaxPositionEmbeddings: number("original_max_position_embeddings", settings, json),
    partialRotaryFactor: number("partial_rotary_factor", settings, json) ?? 1,
    raw: settings,
  };
}

function isRecord(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function fault(name: string, what: string, advice: string): FormatError {
  return new FormatError("config_json", `${name} ${what}.`, { do: advice, data: { file: name } });
}
