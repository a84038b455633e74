/**
 * Replies that a harness got in part and kept. The reply as a whole was never delivered and is no turn, but the part in
 * the harness's history was sampled: where sampled ids end exactly with it, they stand for it verbatim.
 */
import type { ChatMessage, ChatRequest, RecordedCall } from "../../src/schema/chat.ts";
import { messageText } from "../../src/text/message_text.ts";
import type { ServedModel } from "../deps.ts";
import type { Attempt } from "./attempt.ts";

/** The text that the request has where the call's reply would stand; null when it is no beginning of that reply. */
function adoptedText({ messages }: ChatRequest, call: RecordedCall, reply: ChatMessage | null): string | null {
  const kept = messages[call.request.messages.length];
  if (call.reply !== null || reply === null || kept?.role !== "assistant" || kept.tool_calls?.length) return null;
  const text = messageText(kept);
  return text !== "" && messageText(reply).startsWith(text.trimEnd()) ? text : null;
}

/** How many leading ids of a reply show exactly this text; null when no number does. */
function idsShowing(text: string, call: RecordedCall, { codec }: ServedModel): number | null {
  const ids = Array.from(call.replyIds);
  const shown = (count: number) =>
    codec.parseReply(ids.slice(0, count), call.request.templateArgs, call.request.tools).content?.trimEnd() ?? "";
  const wanted = text.trimEnd();
  // What is shown only grows with the ids: the shortest beginning that shows enough is found by halving.
  let low = 1;
  let high = ids.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (shown(middle).length < wanted.length) low = middle + 1;
    else high = middle;
  }
  return shown(low) === wanted ? low : null;
}

/** The calls that were not delivered, cut to what the request shows that it has of their replies. */
export function adoptedCalls(
  request: ChatRequest,
  recorded: readonly RecordedCall[],
  attempt: Attempt,
  model: ServedModel,
): RecordedCall[] {
  return recorded.flatMap((call) => {
    const text = adoptedText(request, call, attempt.replyOf(call.id));
    const count = text === null ? null : idsShowing(text, call, model);
    if (text === null || count === null) return [];
    const replyIds = Array.prototype.slice.call(call.replyIds, 0, count) as number[];
    return [{ ...call, reply: { role: "assistant" as const, content: text }, replyIds }];
  });
}
