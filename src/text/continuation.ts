import type { ChatMessage, ChatRequest, RecordedCall } from "../schema/chat.ts";
import { commonMessages, sameMessage, sameTools } from "./canonical.ts";

/** A recorded call that a request continues. */
export interface Continuation {
  call: RecordedCall;
  reply: ChatMessage;
  /** Index of the reply in the request's messages; what follows it is new. */
  replyIndex: number;
}

/**
 * The recorded call with the longest conversation that the request repeats: the same tools, the call's messages, then
 * its reply. A reply is recognised by the id of one of its tool calls, else by its content (`sameMessage`). Of several
 * equally long ones (a call answered twice), one with recorded tokens wins, then the latest.
 */
export function findContinuation(request: ChatRequest, recorded: readonly RecordedCall[]): Continuation | null {
  let best: Continuation | null = null;
  for (const call of recorded) {
    const found = continuation(request, call);
    if (found && (!best || rank(found) >= rank(best))) best = found;
  }
  return best;
}

/** True when the call's prompt and reply ids are known. */
export function hasTokens(call: RecordedCall): boolean {
  return call.promptIds.length > 0 && call.replyIds.length > 0;
}

function continuation(request: ChatRequest, call: RecordedCall): Continuation | null {
  const { reply } = call;
  const replyIndex = call.request.messages.length;
  const repeated = request.messages[replyIndex];
  if (!reply || repeated?.role !== "assistant" || !sameMessage(reply, repeated)) return null;
  if (!sameTools(request, call.request)) return null;
  const common = commonMessages(call.request.messages, request.messages);
  return common === replyIndex ? { call, reply, replyIndex } : null;
}

function rank(found: Continuation): number {
  return found.replyIndex + (hasTokens(found.call) ? 0.5 : 0);
}
