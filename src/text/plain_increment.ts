import type { ChatMessage, ChatRequest } from "../schema/chat.ts";
import type { Continuation } from "./continuation.ts";
import { type Increment, type IncrementContext, spells } from "./increment.ts";
import { sameSettings } from "./prompt_texts.ts";
import { sameInTemplate } from "./template_messages.ts";

/** An increment, and the text of the whole prompt that it ends. */
export interface PlainIncrement {
  increment: Increment;
  /** As the template writes the call's messages, the reply as recorded, and what is new. */
  whole: string;
  /** True when the template writes the request itself so: it repeats the reply as it was recorded. */
  isRequest: boolean;
}

/** What a plain increment is made with. */
export interface PlainIncrementContext extends Pick<IncrementContext, "stopIds" | "encoder" | "marks" | "parse"> {
  /** The text of a request in which no text spells a control token; null for any other. */
  plainText(request: ChatRequest): string | null;
}

/**
 * The increment by one render of the whole conversation, in the usual case: the request repeats the call as it was
 * recorded, and no text spells a control token, so that every one in the rendered text is the template's. The first that
 * may end a turn after the call's prompt then ends the reply's, provided that what stands between spells the reply: the
 * text is the prompt, the reply's turn and the increment, one after the other.
 * @returns null in any other case
 */
export function plainIncrement(
  { plainText, encoder, marks, stopIds, parse }: PlainIncrementContext,
  request: ChatRequest,
  { call, reply, replyIndex }: Continuation,
): PlainIncrement | null {
  const before = call.request.messages;
  const repeats = before.every((message, at) => sameInTemplate(message, request.messages[at] as ChatMessage));
  if (!repeats || !sameSettings(request, call.request)) return null;
  const prompt = plainText(call.request);
  const whole =
    prompt === null
      ? null
      : plainText({ ...request, messages: [...before, reply, ...request.messages.slice(replyIndex + 1)] });
  // Texts of the same length are compared at once, where `startsWith` goes character by character.
  if (prompt === null || whole?.slice(0, prompt.length) !== prompt) return null;
  const rest = whole.slice(prompt.length);
  const end = encoder.findControl(rest, marks.lookalike, stopIds);
  if (!end || !spells(parse(rest.slice(0, end.at)), reply)) return null;
  const turnLength = end.at + end.token.content.length;
  const increment = { tail: rest.slice(turnLength), endOfTurn: end.token, turn: rest.slice(0, turnLength) };
  return { increment, whole, isRequest: sameInTemplate(reply, request.messages[replyIndex] as ChatMessage) };
}
