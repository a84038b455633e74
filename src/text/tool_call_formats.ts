import { FormatError } from "../core/errors.ts";
import { deepseekV3, deepseekV31 } from "./deepseek.ts";
import { hermes } from "./hermes.ts";
import { llamaJson } from "./llama_json.ts";
import { mistral } from "./mistral.ts";
import { pythonic } from "./pythonic.ts";
import { qwen3Coder } from "./qwen3_coder.ts";
import { react } from "./react.ts";
import type { ToolCallFormat } from "./tool_call_format.ts";

/** Every known format, most specific first. */
export const toolCallFormats: readonly ToolCallFormat[] = [
  qwen3Coder,
  hermes,
  mistral,
  deepseekV3,
  deepseekV31,
  pythonic,
  llamaJson,
  react,
];

/** The format that a template asks its model for; null where it asks for none. */
export function detectToolCallFormat(templateSource: string): ToolCallFormat | null {
  return toolCallFormats.find((format) => format.matches(templateSource)) ?? null;
}

/** @throws FormatError "tool_format_unknown" */
export function toolCallFormat(name: string): ToolCallFormat {
  const found = toolCallFormats.find((format) => format.name === name);
  if (found) return found;
  const names = toolCallFormats.map((format) => format.name).join(", ");
  throw new FormatError("tool_format_unknown", `No tool-call format is named "${name}".`, {
    do: `Choose one of ${names}.`,
  });
}
