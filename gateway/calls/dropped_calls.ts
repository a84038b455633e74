import { hashString } from "../../src/core/rng.ts";
import type { ChatMessage } from "../../src/schema/chat.ts";
import { messageText } from "../../src/text/message_text.ts";

/** Everything by which a message can be recognised as a reply, each as a number of 32 bits. */
function marksOf(reply: ChatMessage, callId: string | null): number[] {
  const names = (reply.tool_calls ?? []).map(({ id }) => id);
  if (callId) names.push(callId);
  return [messageText(reply).trim(), ...names].map((text) => hashString(text) | 0);
}

/**
 * What an attempt knows of calls that it no longer has in memory: whether a message may be the reply of one. They are in
 * the store; that a message is taken for one that it is not costs a look there.
 */
export class DroppedCalls {
  /** Marks of replies by how many messages the requests had. */
  private readonly marks = new Map<number, Set<number>>();

  add(callId: string, messages: number, reply: ChatMessage): void {
    const known = this.marks.get(messages) ?? new Set();
    this.marks.set(messages, known);
    for (const mark of marksOf(reply, callId)) known.add(mark);
  }

  /** Whether `reply`, which follows on so many messages, may be one of theirs. */
  mayHold(messages: number, reply: ChatMessage): boolean {
    const known = this.marks.get(messages);
    return known !== undefined && marksOf(reply, reply.recorded_call ?? null).some((mark) => known.has(mark));
  }
}
