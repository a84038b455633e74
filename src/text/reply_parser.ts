import type { ChatRequest, ParsedToolCall } from "../schema/chat.ts";
import { splitReasoning } from "./reasoning.ts";
import type { ToolCallFormat } from "./tool_call_format.ts";

/** A reply's text taken apart. */
export interface ParsedText {
  content: string | null;
  reasoningContent: string | null;
  toolCalls: ParsedToolCall[];
}

/**
 * Thinking, answer and tool calls of a reply's text. `opened`: the prompt ends inside the thinking; `tools`: what the
 * request offered.
 */
export function parseReplyText(
  text: string,
  format: ToolCallFormat,
  opened: boolean,
  tools?: ChatRequest["tools"],
): ParsedText {
  const { reasoning, rest } = splitReasoning(text, opened);
  const { content, calls } = format.parse(rest, tools ?? undefined);
  // A reply of nothing but thinking or calls has no content; an empty one has the empty text.
  const nothing = content === "" && (calls.length > 0 || reasoning !== null);
  return { content: nothing ? null : content, reasoningContent: reasoning, toolCalls: calls };
}
