import type { ChatMessage, ChatRequest } from "../schema/chat.ts";
import type { Continuation } from "./continuation.ts";
import { type Increment, type IncrementContext, spells } from "./increment.ts";
import { PromptText, sameSettings } from "./prompt_texts.ts";
import { sameInTemplate } from "./template_messages.ts";

/** An increment, and what else was found out on the way. */
export interface PlainIncrement {
  increment: Increment;
  /** The request's own text; null unless it repeats the reply as it was recorded. */
  text: PromptText | null;
}

/** What a plain increment is made with. */
export interface PlainIncrementContext extends Pick<IncrementContext, "stopIds" | "encoder" | "marks" | "parse"> {
  /** The text of a request in which no text spells a control token; null for any other. */
  plainText(request: ChatRequest): string | null;
  /** The same of a call's request, which may be known. */
  promptText(request: ChatRequest): PromptText | null;
}

/**
 * The increment by one render of the whole conversation, in the usual case: the request repeats the call as it was
 * recorded, and no text spells a control token, so that every one in the rendered text is the template's. The first that
 * may end a turn after the call's prompt then ends the reply's, provided that what stands between spells the reply: the
 * text is the prompt, the reply's turn and the increment, one after the other.
 * @returns null in any other case
 */
export function plainIncrement(
  { plainText, promptText, encoder, marks, stopIds, parse }: PlainIncrementContext,
  request: ChatRequest,
  { call, reply, replyIndex }: Continuation,
): PlainIncrement | null {
  const before = call.request.messages;
  const repeats = before.every((message, at) => sameInTemplate(message, request.messages[at] as ChatMessage));
  if (!repeats || !sameSettings(request, call.request)) return null;
  const prompt = promptText(call.request);
  const messages = [...before, reply, ...request.messages.slice(replyIndex + 1)];
  const whole = prompt && plainText({ ...request, messages });
  if (!whole || !prompt?.begins(whole)) return null;
  const rest = whole.slice(prompt.length);
  const end = encoder.findControl(rest, marks.lookalike, stopIds);
  if (!end || !spells(parse(rest.slice(0, end.at)), reply)) return null;
  const turnLength = end.at + end.token.content.length;
  const increment = { tail: rest.slice(turnLength), endOfTurn: end.token, turn: rest.slice(0, turnLength) };
  const isRequest = sameInTemplate(reply, request.messages[replyIndex] as ChatMessage);
  return { increment, text: isRequest ? new PromptText(prompt, rest) : null };
}
