import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { JsonObject, TokenizerFiles } from "../../src/schema/tokenizer_files.ts";
import { ChatFormat, type ChatFormatOptions } from "../../src/text/chat_format.ts";
import { tinyTokenizerFiles } from "./tiny_tokenizer.ts";

/** Tokenizer files of a shared folder or of a single tokenizer.json. */
export function sharedTokenizerFiles(path: string, overrides: Partial<TokenizerFiles> = {}): TokenizerFiles {
  const single = path.endsWith(".json");
  const read = (name: string): JsonObject | null => {
    try {
      return JSON.parse(readFileSync(join(path, name), "utf8")) as JsonObject;
    } catch {
      return null;
    }
  };
  return {
    name: path,
    tokenizer: JSON.parse(readFileSync(single ? path : join(path, "tokenizer.json"), "utf8")) as JsonObject,
    tokenizerConfig: single ? null : read("tokenizer_config.json"),
    specialTokensMap: null,
    generationConfig: single ? null : read("generation_config.json"),
    modelConfig: single ? null : read("config.json"),
    chatTemplates: {},
    ...overrides,
  };
}

/** The template of the calculator task (recipe: a shortened Qwen template that only ever appends). */
export const calcTemplate = `{%- if tools %}
{{- '<|im_start|>system\\n' + messages[0].content + '\\n\\n# Tools\\n\\n<tools>' }}
{%- for tool in tools %}{{- '\\n' + (tool | tojson) }}{%- endfor %}
{{- '\\n</tools><|im_end|>\\n' }}
{%- else %}
{{- '<|im_start|>system\\n' + messages[0].content + '<|im_end|>\\n' }}
{%- endif %}
{%- for message in messages[1:] %}
{%- if message.role == 'tool' %}
{{- '<|im_start|>user\\n<tool_response>\\n' + message.content + '\\n</tool_response><|im_end|>\\n' }}
{%- else %}
{{- '<|im_start|>' + message.role + '\\n' + message.content }}
{%- for call in message.tool_calls or [] %}
{{- ('\\n' if message.content or not loop.first else '') + '<tool_call>\\n{"name": "' + call.function.name + '", "arguments": ' }}
{{- (call.function.arguments | tojson) + '}\\n</tool_call>' }}
{%- endfor %}
{{- '<|im_end|>\\n' }}
{%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- endif %}`;

/** A chat format over the tiny tokenizer with the given template. */
export function tinyFormat(template: string, options: ChatFormatOptions = {}): ChatFormat {
  return ChatFormat.load(tinyTokenizerFiles({ chatTemplates: { default: template } }), options);
}

/** A shared template's source. */
export function sharedTemplate(folder: string, name: "qwen2.5" | "qwen3"): string {
  return readFileSync(join(folder, `${name}.jinja`), "utf8");
}
