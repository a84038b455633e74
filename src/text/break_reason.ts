import type { BreakReason, ChatMessage, ChatRequest, ContinuedCall } from "../schema/chat.ts";
import { commonMessages, sameMessage, sameTools } from "./canonical.ts";
import { messageText } from "./message_text.ts";

/** Words by which harnesses ask for a summary of the conversation. */
const summaryWords = /\b(summar|compact|condens|recap)/i;

/** Lines of a reply too short to prove that it is quoted. */
const provingLineLength = 16;

/**
 * Why a request that continues no recorded call does not; null when it is no break: the first call of an attempt, or
 * the same messages once more (a retry, another choice).
 */
export function breakReason(request: ChatRequest, recorded: readonly ContinuedCall[]): BreakReason | null {
  if (recorded.length === 0 || recorded.some((call) => repeats(request, call.request))) return null;
  if (isCompaction(request, recorded)) return "compaction";
  if (recorded.some((call) => sharesBeginning(request, call) || repeatsReply(request, call))) return "edited";
  return spoken(request.messages).length > 0 ? "side" : "unknown";
}

function repeats(a: ChatRequest, b: ChatRequest): boolean {
  const n = a.messages.length;
  return n === b.messages.length && sameTools(a, b) && commonMessages(a.messages, b.messages) === n;
}

/**
 * A summary is asked for (summary words in the last message or the system text, where the conversation goes on without
 * its tools or is quoted), or a recorded reply is quoted to the same agent in place of the conversation.
 */
function isCompaction(request: ChatRequest, recorded: readonly ContinuedCall[]): boolean {
  const asked = summaryWords.test(instructions(request));
  const withoutTools = (call: ContinuedCall) =>
    !request.tools?.length && (call.request.tools?.length ?? 0) > 0 && sharesBeginning(request, call);
  if (asked && recorded.some(withoutTools)) return true;
  const quoted = recorded.filter((call) => quotes(request, call));
  if (asked && quoted.length > 0) return true;
  const sameAgent = (call: ContinuedCall) => (call.request.tools?.length ?? 0) > 0 && sameTools(request, call.request);
  return quoted.length > 0 && recorded.some(sameAgent) && !recorded.some((call) => repeatsReply(request, call));
}

function instructions(request: ChatRequest): string {
  const last = request.messages.at(-1);
  const system = request.messages.filter((message) => message.role === "system" || message.role === "developer");
  return [...system, ...(last ? [last] : [])].map(messageText).join("\n");
}

/** The first message that is not the system's is the same in both. */
function sharesBeginning(request: ChatRequest, call: ContinuedCall): boolean {
  const [a] = spoken(request.messages);
  const [b] = spoken(call.request.messages);
  return a !== undefined && b !== undefined && sameMessage(a, b);
}

/** The reply stands where it stood, though something else around it was changed. */
function repeatsReply(request: ChatRequest, call: ContinuedCall): boolean {
  const at = spoken(call.request.messages).length;
  const there = spoken(request.messages)[at];
  return call.reply !== null && there !== undefined && sameMessage(call.reply, there);
}

/** Half of the reply's longer lines, or all of it, stand in a message that is not that reply in its place. */
function quotes(request: ChatRequest, call: ContinuedCall): boolean {
  if (!call.reply || repeatsReply(request, call)) return false;
  const reply = messageText(call.reply).trim();
  const lines = reply
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line.length >= provingLineLength);
  if (lines.length === 0) return false;
  return request.messages.some((message) => {
    const text = messageText(message);
    return lines.filter((line) => text.includes(line)).length * 2 >= lines.length;
  });
}

function spoken(messages: readonly ChatMessage[]): ChatMessage[] {
  return messages.filter((message) => message.role !== "system" && message.role !== "developer");
}
