import type { ChatMessage, ChatRequest, ContinuedCall } from "../schema/chat.ts";
import { commonMessages, sameMessage, sameTools } from "./canonical.ts";
import { messageText } from "./message_text.ts";

/** A recorded call that a request continues. */
export interface Continuation<C extends ContinuedCall = ContinuedCall> {
  call: C;
  reply: ChatMessage;
  /** Index of the reply in the request's messages; what follows it is new. */
  replyIndex: number;
}

/**
 * The recorded call with the longest conversation that the request repeats: the same tools, the call's messages, then
 * its reply. A reply is recognised by the id of one of its tool calls, else by its content (`sameMessage`). Of several
 * equally long ones (a call answered twice), one with recorded tokens wins, then the latest.
 */
export function findContinuation<C extends ContinuedCall>(
  request: ChatRequest,
  recorded: readonly C[],
): Continuation<C> | null {
  if (recorded.length === 1) return continuation(request, recorded[0] as C);
  // Longest first: in the usual case, a conversation that goes on, the first comparison is the only one.
  const candidates = recorded.map((call, at) => ({ call, at, rank: rank(call) }));
  candidates.sort((a, b) => b.rank - a.rank || b.at - a.at);
  for (const { call } of candidates) {
    const found = continuation(request, call);
    if (found) return found;
  }
  return null;
}

/** True when the call's prompt and reply ids are known; a reply cut off before its first token has none. */
export function hasTokens({ promptIds, replyIds, reply }: ContinuedCall): boolean {
  const empty = reply !== null && messageText(reply) === "" && !reply.tool_calls?.length && !reply.reasoning_content;
  return promptIds.length > 0 && (replyIds.length > 0 || empty);
}

function continuation<C extends ContinuedCall>(request: ChatRequest, call: C): Continuation<C> | null {
  const { reply } = call;
  const replyIndex = call.request.messages.length;
  const repeated = request.messages[replyIndex];
  if (!reply || repeated?.role !== "assistant" || !sameMessage(reply, repeated)) return null;
  if (!sameTools(request, call.request)) return null;
  const common = commonMessages(call.request.messages, request.messages);
  return common === replyIndex ? { call, reply, replyIndex } : null;
}

function rank(call: ContinuedCall): number {
  return call.request.messages.length + (hasTokens(call) ? 0.5 : 0);
}
