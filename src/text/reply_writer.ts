import type { ParsedToolCall } from "../schema/chat.ts";
import { thinkClose, thinkOpen } from "./reasoning.ts";
import type { ToolCallFormat } from "./tool_call_format.ts";

/** A reply to be spelt as the model would spell it. */
export interface WrittenReply {
  content: string | null;
  reasoningContent: string | null;
  toolCalls: readonly ParsedToolCall[];
}

/**
 * The text of a reply: thinking, answer and calls, in the form that `parseReplyText` takes apart. `opened`: the prompt
 * ends inside the thinking, which is then closed even when there is none.
 */
export function writeReplyText(reply: WrittenReply, format: ToolCallFormat, opened: boolean): string {
  const { content, reasoningContent: reasoning, toolCalls } = reply;
  const answer = content ?? "";
  const calls = toolCalls.length === 0 ? "" : format.write(toolCalls);
  const between = answer !== "" && calls !== "" ? "\n" : "";
  const thought = reasoning === null && !opened ? "" : `${reasoning ?? ""}\n${thinkClose}\n\n`;
  return `${thought === "" || opened ? "" : `${thinkOpen}\n`}${thought}${answer}${between}${calls}`;
}
