import type { ChatMessage, ChatRequest } from "../schema/chat.ts";
import { sameInTemplate } from "./template_messages.ts";

/** Characters of the texts that are kept: those of some hundred long conversations. */
const keptCharacters = 32_000_000;

interface Kept {
  readonly request: ChatRequest;
  readonly text: string;
}

/** True when templates are given the same tools and variables for both requests, keys in the same order. */
export function sameSettings(a: ChatRequest, b: ChatRequest): boolean {
  const sameTools = a.tools === b.tools || (!a.tools?.length && !b.tools?.length);
  return sameTools && JSON.stringify(a.templateArgs ?? {}) === JSON.stringify(b.templateArgs ?? {});
}

/**
 * The texts that a template made of requests lately, generation prompt included, so that a call that is continued is not
 * rendered again. The least recently used leave first.
 */
export class PromptTexts {
  /** By the requests' last messages. */
  private readonly texts = new Map<ChatMessage, Kept>();
  private characters = 0;
  private readonly limit: number;

  constructor(limit: number = keptCharacters) {
    this.limit = limit;
  }

  /** The text of a request for which the template is given the same; undefined where none is kept. */
  get(request: ChatRequest): string | undefined {
    const { messages } = request;
    const last = messages.at(-1);
    const kept = last && this.texts.get(last);
    if (!kept || kept.request.messages.length !== messages.length || !sameSettings(kept.request, request)) {
      return undefined;
    }
    const isSame = kept.request.messages.every((message, at) => sameInTemplate(message, messages[at] as ChatMessage));
    if (!isSame) return undefined;
    this.texts.delete(last);
    this.texts.set(last, kept);
    return kept.text;
  }

  set(request: ChatRequest, text: string): void {
    const last = request.messages.at(-1);
    if (!last) return;
    this.delete(last);
    // A list of its own: the request's may grow.
    this.texts.set(last, { request: { ...request, messages: [...request.messages] }, text });
    this.characters += text.length;
    for (const oldest of this.texts.keys()) {
      if (this.characters <= this.limit) break;
      this.delete(oldest);
    }
  }

  private delete(last: ChatMessage): void {
    this.characters -= this.texts.get(last)?.text.length ?? 0;
    this.texts.delete(last);
  }
}
