/** The prompt of a chat: the recorded call it continues, found here; its tokens, made by the model's codec. */
import type { ChatRequest, EncodedPrompt, RecordedCall } from "../../src/schema/chat.ts";
import { breakReason } from "../../src/text/break_reason.ts";
import { findContinuation } from "../../src/text/continuation.ts";
import type { ServedModel } from "../deps.ts";
import type { Attempt } from "./attempt.ts";
import { sharedRequest } from "./call_memory.ts";
import { adoptedCalls } from "./partial_reply.ts";

/** A chat with its prompt; it holds the recorded call's own objects where it says the same. */
export interface ChatPrompt {
  chat: ChatRequest;
  prompt: EncodedPrompt;
}

/** Of the recorded calls the one with the longest conversation that the chat repeats, reply included. */
async function continuedCall(
  chat: ChatRequest,
  attempt: Attempt,
  name: string,
  model: ServedModel,
): Promise<RecordedCall | null> {
  // The call's messages end where a reply stands in the chat: in the usual case, the last one.
  for (let at = chat.messages.length - 1; at >= 0; at--) {
    const reply = chat.messages[at];
    if (reply?.role !== "assistant") continue;
    const recorded = attempt.recordedOfLength(name, at);
    const found =
      findContinuation(chat, recorded) ?? findContinuation(chat, adoptedCalls(chat, recorded, attempt, model));
    if (found) return found.call;
    const dropped = findContinuation(chat, await attempt.droppedOfLength(name, at, reply));
    if (!dropped) continue;
    attempt.revive(name, dropped.call);
    return dropped.call;
  }
  return null;
}

/** @throws what the codec throws */
export async function chatPrompt(
  asked: ChatRequest,
  attempt: Attempt,
  name: string,
  model: ServedModel,
): Promise<ChatPrompt> {
  const call = await continuedCall(asked, attempt, name, model);
  // What is one object crosses to a codec in a worker once.
  const chat = call ? sharedRequest(asked, call.request) : asked;
  const prompt = await model.codec.encodeRequest(chat, call ? [call] : []);
  if (call) return { chat, prompt };
  return { chat, prompt: { ...prompt, break: breakReason(chat, attempt.recorded(name)) } };
}
