import type { ChatRequest } from "../../src/schema/chat.ts";
import type { ReplySource, ScriptedReply } from "../../src/schema/script.ts";

/** Replies written beforehand, given out in order to each rollout; the last one is repeated. */
export class ReplyScript implements ReplySource {
  /** By the text that a request must contain; null holds those for every request. */
  private readonly queues = new Map<string | null, ScriptedReply[]>();
  /** How many replies of each queue a rollout has had. */
  private readonly taken = new Map<string, number>();

  /** `replies` holds at least one without `when`. */
  constructor(replies: readonly ScriptedReply[]) {
    for (const reply of replies) {
      const when = reply.when ?? null;
      this.queues.set(when, [...(this.queues.get(when) ?? []), reply]);
    }
  }

  next(rolloutId: string, request: ChatRequest): ScriptedReply {
    const when = this.queueFor(request);
    const queue = this.queues.get(when) ?? [];
    const place = JSON.stringify([rolloutId, when]);
    const count = this.taken.get(place) ?? 0;
    this.taken.set(place, count + 1);
    return queue[Math.min(count, queue.length - 1)] ?? {};
  }

  private queueFor({ messages, tools }: ChatRequest): string | null {
    const texts = [...this.queues.keys()].filter((text) => text !== null);
    if (texts.length === 0) return null;
    const said = JSON.stringify([messages, tools]);
    return texts.find((text) => said.includes(JSON.stringify(text).slice(1, -1))) ?? null;
  }
}
