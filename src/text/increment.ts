import type { ChatMessage, ChatRequest } from "../schema/chat.ts";
import { sameCalls } from "./canonical.ts";
import type { ChatTemplate } from "./chat_template.ts";
import type { Continuation } from "./continuation.ts";
import type { GuardedEncoder } from "./guarded_encoder.ts";
import type { Marks } from "./marks.ts";
import { messageText } from "./message_text.ts";
import { CarriedNumbers } from "./python_json.ts";
import type { AddedToken } from "./special_tokens.ts";
import type { Preparation } from "./template_messages.ts";

/** What the increment of a continuation is made with. */
export interface IncrementContext {
  template: ChatTemplate;
  encoder: GuardedEncoder;
  marks: Marks;
  /** Ids of the tokens that may end a turn. */
  stopIds: ReadonlySet<number>;
  /** The message that a turn's text spells. */
  parse(text: string): { content: string | null; reasoningContent: string | null; toolCalls: readonly ParsedCall[] };
}

type ParsedCall = { name: string; arguments: string };

/** The template's text for what is new in a request that continues a recorded call. */
export interface Increment {
  /** From the end of the reply's turn to the new generation prompt, look-alikes marked. */
  tail: string;
  /** The token that ends an assistant's turn in this template; null when it writes none. */
  endOfTurn: AddedToken | null;
  /**
   * The reply's turn, end included, as the template writes it after the call's own prompt; null when the template
   * would write the prompt or the reply differently now.
   */
  turn: string | null;
}

/**
 * Renders the whole conversation with a placeholder as the reply and takes what follows its turn. A second render, with
 * the call's messages and reply as recorded, shows whether the template still writes them the same: it must begin with
 * the call's prompt, end with the increment, and hold between them the reply that was delivered.
 * @returns null when the end of the reply's turn cannot be told from its text
 */
export function findIncrement(
  context: IncrementContext,
  request: ChatRequest,
  { call, reply, replyIndex }: Continuation,
): Increment | null {
  const { template, encoder, marks } = context;
  const added = request.messages.slice(replyIndex + 1);
  const render = (before: ChatRequest, messages: readonly ChatMessage[], mark: Preparation["mark"]) =>
    template.render(
      { ...before, messages },
      { generationPrompt: true, preparation: { mark, numbers: new CarriedNumbers(marks.number) } },
    );
  const place = `${marks.place}reply${marks.place}`;
  const conversation = [...request.messages.slice(0, replyIndex), placeholder(reply, place), ...added];
  const probe = render(request, conversation, (text) => encoder.mark(text, marks.lookalike));
  const rest = probe.slice(probe.lastIndexOf(place) + place.length);
  const end = encoder.findControl(rest, marks.lookalike, context.stopIds);
  if (!end && (reply.tool_calls?.length ?? 0) > 0) return null;
  const tail = end ? rest.slice(end.at + end.token.content.length) : rest;

  const plainTail = tail.replaceAll(marks.lookalike, "");
  const prompt = render(call.request, call.request.messages, (text) => text);
  const now = { ...request, tools: call.request.tools };
  const whole = render(now, [...call.request.messages, reply, ...added], (text) => text);
  const endOfTurn = end?.token ?? null;
  if (
    whole.slice(0, prompt.length) !== prompt ||
    !whole.endsWith(plainTail) ||
    whole.length < prompt.length + plainTail.length
  ) {
    return { tail, endOfTurn, turn: null };
  }
  const turn = whole.slice(prompt.length, whole.length - plainTail.length);
  const spelled = endOfTurn && turn.endsWith(endOfTurn.content) ? turn.slice(0, -endOfTurn.content.length) : turn;
  return { tail, endOfTurn, turn: spells(context.parse(spelled), reply) ? turn : null };
}

/** The reply with the placeholder for every text in it. */
function placeholder(reply: ChatMessage, place: string): ChatMessage {
  const args = JSON.stringify({ [place]: place });
  const calls = (reply.tool_calls ?? []).map((call) => ({
    ...call,
    function: { name: call.function.name, arguments: args },
  }));
  const content = calls.length > 0 && messageText(reply) === "" ? "" : place;
  return { role: "assistant", content, ...(calls.length > 0 ? { tool_calls: calls } : {}) };
}

/** True when what was read of a turn is the reply. */
export function spells(parsed: ReturnType<IncrementContext["parse"]>, reply: ChatMessage): boolean {
  const calls = parsed.toolCalls.map((call) => ({ function: call }));
  return (
    (parsed.content ?? "").trim() === messageText(reply).trim() &&
    (parsed.reasoningContent ?? "").trim() === (reply.reasoning_content ?? "").trim() &&
    sameCalls(calls, reply.tool_calls ?? [])
  );
}
