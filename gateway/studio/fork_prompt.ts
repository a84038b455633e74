/** The prompt of a call that is asked again with changes. */
import type { ChatRequest } from "../../src/schema/chat.ts";
import type { CallRecord } from "../../src/schema/store.ts";
import type { ForkRequest } from "../../src/schema/studio_api.ts";
import { Attempt } from "../calls/attempt.ts";
import { chatPrompt } from "../calls/chat_prompt.ts";
import type { ServedModel } from "../deps.ts";
import { dialectNamed } from "../dialects/registry.ts";
import { resolvedCall } from "../dialects/resolve_call.ts";
import { DetailError } from "../http/errors.ts";
import type { RecordedRollout } from "./recorded_rollout.ts";

/** The attempt as it stood when a call came, that call itself included when `through` says so. */
function attemptBefore({ calls }: RecordedRollout, index: number): Attempt {
  const attempt = new Attempt();
  const own = calls[index]?.attemptId;
  for (const call of calls.slice(0, index)) if (call.attemptId === own) attempt.restore(call);
  return attempt;
}

/** The conversation of a call, with what it refers to in its place; null where its form is not known. */
export function conversationBefore(recorded: RecordedRollout, index: number): ChatRequest | null {
  const call = recorded.calls[index];
  const dialect = call && dialectNamed(call.dialect);
  if (!call || !dialect) return null;
  try {
    return resolvedCall(dialect, dialect.read(call.request), attemptBefore(recorded, index)).chat;
  } catch {
    // Forwarded requests hold whatever their endpoint takes.
    return null;
  }
}

function joined(...parts: readonly ArrayLike<number>[]): Int32Array {
  return Int32Array.from(parts.flatMap((part) => Array.from(part)));
}

/** Ids that a fork's prompt begins with in common with the recorded prompt and reply. */
export function sharedIds(ids: Int32Array, { tokens }: CallRecord): number {
  const recorded = joined(tokens.promptIds, tokens.replyIds);
  let shared = 0;
  while (shared < ids.length && shared < recorded.length && ids[shared] === recorded[shared]) shared++;
  return shared;
}

/** The token ids to go on from. @throws DetailError 422 for changes that fit no prompt; what the codec throws */
export async function forkPrompt(
  recorded: RecordedRollout,
  index: number,
  asked: ForkRequest,
  model: ServedModel,
): Promise<{ ids: Int32Array; kind: "messages" | "tokens" | "same"; chat: ChatRequest | null }> {
  const call = recorded.calls[index] as CallRecord;
  const chat = conversationBefore(recorded, index);
  if (asked.messages !== undefined) {
    const request: ChatRequest = { ...chat, messages: asked.messages };
    const { prompt } = await chatPrompt(request, attemptBefore(recorded, index), call.policy, model);
    return { ids: prompt.ids, kind: "messages", chat: request };
  }
  if (asked.ids !== undefined) return { ids: Int32Array.from(asked.ids), kind: "tokens", chat };
  const whole = joined(call.tokens.promptIds, call.tokens.replyIds);
  const keep = asked.keep ?? call.tokens.promptIds.length;
  if (keep > whole.length) {
    throw new DetailError(422, `The call has ${whole.length} tokens; it cannot keep ${keep} of them`);
  }
  const insert = asked.insert ?? "";
  const added = insert === "" ? [] : await model.codec.encodeText(insert, keep > 0);
  const ids = joined(whole.subarray(0, keep), added);
  if (ids.length === 0) throw new DetailError(422, "A prompt needs at least one token");
  const same = asked.keep === undefined && added.length === 0;
  return { ids, kind: same ? "same" : "tokens", chat };
}
