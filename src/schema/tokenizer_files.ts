/** A JSON object as parsed. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** What a Hugging Face folder says about text, parsed but not interpreted; structured-clonable. */
export interface TokenizerFiles {
  /** What error messages call the folder. */
  name: string;
  /** tokenizer.json. */
  tokenizer: JsonObject;
  /** tokenizer_config.json, special_tokens_map.json, generation_config.json, config.json; null where absent. */
  tokenizerConfig: JsonObject | null;
  specialTokensMap: JsonObject | null;
  generationConfig: JsonObject | null;
  modelConfig: JsonObject | null;
  /** Template files by name: "default" is chat_template.jinja, others come from additional_chat_templates/. */
  chatTemplates: Readonly<Record<string, string>>;
}
