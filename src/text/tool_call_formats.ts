import { hermes } from "./hermes.ts";
import type { ToolCallFormat } from "./tool_call_format.ts";

/** Every known format, most specific first. */
export const toolCallFormats: readonly ToolCallFormat[] = [hermes];

/** The format that a template asks its model for; Hermes where it asks for none. */
export function detectToolCallFormat(templateSource: string): ToolCallFormat {
  return toolCallFormats.find((format) => format.matches(templateSource)) ?? hermes;
}
