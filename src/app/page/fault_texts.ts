import type { TextKey } from "./texts.ts";

/** What a fault is in the page's language. */
export interface FaultText {
  readonly text: TextKey;
  /** The fault's own words name what to correct: they are shown open. */
  readonly exact: boolean;
}

interface FaultGroup {
  readonly text: TextKey;
  readonly exact?: true;
  readonly codes: readonly string[];
}

/** Faults that people at a tab can meet, by what they can do about them. */
const groups: readonly FaultGroup[] = [
  {
    text: "fault.settings",
    exact: true,
    codes: ["config", "shape", "index", "invalid_value", "invalid_json", "invalid_body", "unsupported_parameter"],
  },
  { text: "fault.settings", exact: true, codes: ["train_row", "train_row_too_long", "no_critic", "no_reference"] },
  { text: "fault.phase", codes: ["run_phase"] },
  { text: "fault.rollouts", exact: true, codes: ["rollouts_failed", "no_runner"] },
  { text: "fault.reward", exact: true, codes: ["grader_failed", "hook_failed"] },
  { text: "fault.numbers", codes: ["invalid_logits"] },
  { text: "fault.device", codes: ["device_validation", "shader"] },
  { text: "fault.background", codes: ["tab_closed", "tab_failed", "worker_failed", "not_a_worker"] },
  { text: "fault.closed", codes: ["engine_closed", "codec_closed", "no_model", "not_served", "model_not_found"] },
  { text: "fault.busy", codes: ["paused", "opening", "429", "503", "http_429", "http_503"] },
  { text: "fault.serviceWorker", codes: ["no_service_worker"] },
  { text: "fault.files", codes: ["page_unreachable"] },
  { text: "fault.key", codes: ["invalid_api_key", "401", "403", "http_401", "http_403"] },
  { text: "fault.absent", exact: true, codes: ["404", "http_404", "rollout_not_found", "call_not_found"] },
  { text: "fault.full", codes: ["disk_full"] },
  { text: "fault.importRoom", exact: true, codes: ["import_room"] },
  { text: "fault.storage", codes: ["file_failed", "swap_unfinished"] },
  {
    text: "fault.record",
    codes: ["store_write", "store_closed", "store_read_only", "call_malformed", "parent_mismatch", "duplicate_call"],
  },
  { text: "fault.inUse", codes: ["store_in_use", "store_fenced", "sql_failed"] },
  { text: "fault.damagedRecord", codes: ["sql_damaged"] },
  { text: "fault.version", codes: ["store_version"] },
  { text: "fault.checkpoint", codes: ["checkpoint_damaged", "checkpoint_missing", "optimizer_state"] },
  { text: "fault.nothing", codes: ["no_checkpoint", "no_run", "run_missing", "nothing_kept"] },
  {
    text: "fault.archive",
    exact: true,
    codes: ["zip", "tab_record", "run_folder", "run_config", "file_path", "store_file"],
  },
  {
    text: "fault.model",
    exact: true,
    codes: [
      "model_folder",
      "kept_name",
      "model_config",
      "model_unsupported",
      "config_json",
      "json",
      "file_missing",
      "file_truncated",
    ],
  },
  {
    text: "fault.model",
    exact: true,
    codes: ["tensor_missing", "tensor_shape", "tensor_unknown", "parameter_unknown", "safetensors_dtype"],
  },
  {
    text: "fault.model",
    exact: true,
    codes: ["safetensors_header", "safetensors_offsets", "safetensors_truncated", "shard_missing", "weights_index"],
  },
  {
    text: "fault.model",
    exact: true,
    codes: ["weights_missing", "weights_overflow", "tokenizer_json", "tokenizer_missing", "template_error"],
  },
  { text: "fault.model", exact: true, codes: ["adapter_base", "adapter_config", "adapter_several"] },
  { text: "fault.length", codes: ["context_length_exceeded", "request_too_large"] },
  { text: "fault.words", exact: true, codes: ["text_unencodable", "unsupported_content", "empty_prompt"] },
  { text: "fault.program", codes: ["spawn_failed"] },
  { text: "fault.cancelled", codes: ["cancelled"] },
  { text: "fault.cutOff", codes: ["opening_cut_off"] },
  { text: "fault.internal", codes: ["internal"] },
  { text: "fault.lessonRun", codes: ["lesson_run_lost"] },
  { text: "fault.room.gone", codes: ["room_gone"] },
  { text: "fault.room.code", codes: ["room_403"] },
  { text: "fault.room.often", codes: ["room_429"] },
  { text: "fault.room.full", codes: ["room_409"] },
  { text: "fault.room.out", codes: ["room_401"] },
];

const byCode: ReadonlyMap<string, FaultText> = new Map(
  groups.flatMap(({ text, exact = false, codes }) => codes.map((code) => [code, { text, exact }] as const)),
);

/** Codes that have a text. */
export const toldCodes: readonly string[] = [...byCode.keys()];

/** The text of a fault's code; null for one that only has its own words. */
export function faultText(code: string): FaultText | null {
  return byCode.get(code) ?? null;
}
