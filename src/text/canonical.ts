import type { ChatMessage, ChatRequest, ToolCall, ToolDefinition } from "../schema/chat.ts";
import { messageText } from "./message_text.ts";

/**
 * Equality of messages up to what harnesses change when they send a conversation back: string or text parts, cache
 * marks and other unknown keys, tool-call arguments serialised anew, thinking left out, developer or system.
 */
export function sameMessage(a: ChatMessage, b: ChatMessage): boolean {
  if (a === b) return true;
  if (roleOf(a) !== roleOf(b)) return false;
  if (a.role !== "assistant") return messageText(a) === messageText(b);
  if (sharesCallId(a, b) || isSameReply(a, b)) return true;
  return (
    messageText(a).trim() === messageText(b).trim() &&
    sameReasoning(a.reasoning_content, b.reasoning_content) &&
    sameCalls(a.tool_calls ?? [], b.tool_calls ?? [])
  );
}

/** Tool lists are long and compared with every recorded call. */
const toolTexts = new WeakMap<readonly ToolDefinition[], string>();

/** True when both requests offer the same tools. */
export function sameTools(a: ChatRequest, b: ChatRequest): boolean {
  return toolText(a.tools ?? []) === toolText(b.tools ?? []);
}

function toolText(tools: readonly ToolDefinition[]): string {
  const known = toolTexts.get(tools);
  if (known !== undefined) return known;
  const text = canonicalJson(tools);
  toolTexts.set(tools, text);
  return text;
}

/** How many leading messages are the same. */
export function commonMessages(a: readonly ChatMessage[], b: readonly ChatMessage[]): number {
  let n = 0;
  for (const [i, message] of a.entries()) {
    const other = b[i];
    if (!other || !sameMessage(message, other)) break;
    n++;
  }
  return n;
}

/** True when two lists of calls name the same functions with equal arguments. */
export function sameCalls(
  a: readonly { function: { name: string; arguments: string } }[],
  b: readonly { function: { name: string; arguments: string } }[],
): boolean {
  return (
    a.length === b.length &&
    a.every((call, i) => {
      const other = b[i]?.function;
      return other?.name === call.function.name && sameArguments(call.function.arguments, other.arguments);
    })
  );
}

/** JSON with sorted keys and without cache marks; equal values give equal texts. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, item: unknown) => {
    if (typeof item !== "object" || item === null || Array.isArray(item)) return item;
    const entries = Object.entries(item).filter(([key]) => key !== "cache_control");
    return Object.fromEntries(entries.sort(([x], [y]) => (x < y ? -1 : 1)));
  });
}

/** Ids are given by the gateway and unique, so one is proof enough, whatever else became of the message. */
function sharesCallId(a: ChatMessage, b: ChatMessage): boolean {
  const ids = (message: ChatMessage) => (message.tool_calls ?? []).map((call: ToolCall) => call.id);
  const known = ids(a);
  return ids(b).some((id) => id !== "" && known.includes(id));
}

/** The same call's reply, whatever became of its text; calls taken out of it or put in make it another. */
function isSameReply(a: ChatMessage, b: ChatMessage): boolean {
  const calls = (message: ChatMessage) => message.tool_calls?.length ?? 0;
  return Boolean(a.recorded_call) && a.recorded_call === b.recorded_call && calls(a) === calls(b);
}

function sameArguments(a: string, b: string): boolean {
  return a === b || canonicalArguments(a) === canonicalArguments(b);
}

function canonicalArguments(text: string): string {
  try {
    return canonicalJson(JSON.parse(text.trim() === "" ? "{}" : text));
  } catch {
    return text;
  }
}

function sameReasoning(a: string | null | undefined, b: string | null | undefined): boolean {
  return !a || !b || a.trim() === b.trim();
}

function roleOf(message: ChatMessage): string {
  return message.role === "developer" ? "system" : message.role;
}
