import type { ChatMessage, ChatRequest } from "../schema/chat.ts";
import { sameInTemplate } from "./template_messages.ts";

/** Characters of the texts that are kept: those of some hundred long conversations. */
const keptCharacters = 32_000_000;

/** Links that are followed before a text is put together. */
const mostLinks = 64;

/** A text, as the one it goes on from and what is its own: a conversation takes the room of its last text. */
export class PromptText {
  readonly length: number;
  /** Characters that are held here and nowhere else. */
  readonly ownLength: number;
  private readonly base: PromptText | null;
  private readonly own: string;
  private readonly links: number;

  constructor(base: PromptText | null, own: string) {
    const isFar = (base?.links ?? 0) >= mostLinks;
    this.base = isFar ? null : base;
    // A part of a string holds all of it in memory; put together anew it does not.
    this.own = isFar ? `${base}${own}` : ` ${own}`.slice(1);
    this.links = this.base ? this.base.links + 1 : 0;
    this.ownLength = this.own.length;
    this.length = (this.base?.length ?? 0) + this.ownLength;
  }

  /** True when a text begins with this one. Parts are compared at once, where `startsWith` goes character by character. */
  begins(text: string): boolean {
    for (let at: PromptText | null = this; at !== null; at = at.base) {
      if (text.slice(at.length - at.ownLength, at.length) !== at.own) return false;
    }
    return true;
  }

  toString(): string {
    const parts: string[] = [];
    for (let at: PromptText | null = this; at !== null; at = at.base) parts.push(at.own);
    return parts.reverse().join("");
  }
}

interface Kept {
  readonly request: ChatRequest;
  readonly text: PromptText;
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
  get(request: ChatRequest): PromptText | undefined {
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

  set(request: ChatRequest, text: PromptText): void {
    const last = request.messages.at(-1);
    if (!last) return;
    this.delete(last);
    // A list of its own: the request's may grow.
    this.texts.set(last, { request: { ...request, messages: [...request.messages] }, text });
    this.characters += costOf(text);
    for (const oldest of this.texts.keys()) {
      if (this.characters <= this.limit) break;
      this.delete(oldest);
    }
  }

  private delete(last: ChatMessage): void {
    const kept = this.texts.get(last);
    if (kept) this.characters -= costOf(kept.text);
    this.texts.delete(last);
  }
}

/** Characters that a text holds by itself, and the room of some thousand for all else of it and its request. */
function costOf({ ownLength }: PromptText): number {
  return ownLength + 1000;
}
