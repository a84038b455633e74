/** Tokens as text, token by token. */

import type { CallTokens } from "../../src/schema/store.ts";
import type { StudioReply, StudioTokens } from "../../src/schema/studio_api.ts";

/** Bytes that a token stands for. */
export type TokenBytes = (id: number) => Uint8Array;

/**
 * Texts of tokens, joined exactly their text: a character whose bytes several tokens share stands with the last of them.
 * Without anybody who knows the tokens every text is empty.
 */
export function tokenTexts(ids: ArrayLike<number>, bytesOf: TokenBytes | null): string[] {
  if (bytesOf === null) return Array.from(ids, () => "");
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  const texts = Array.from(ids, (id) => decoder.decode(bytesOf(id), { stream: true }));
  const rest = decoder.decode();
  if (rest !== "" && texts.length > 0) texts[texts.length - 1] += rest;
  return texts;
}

/** Ids with their texts. */
export function studioTokens(ids: ArrayLike<number>, bytesOf: TokenBytes | null): StudioTokens {
  return { ids: Array.from(ids), texts: tokenTexts(ids, bytesOf) };
}

/** Sampled tokens with what was recorded of each; numbers that JSON cannot hold are as far down as it can. */
export function studioReply(
  { replyIds, logprobs, versions }: Pick<CallTokens, "replyIds" | "logprobs" | "versions">,
  bytesOf: TokenBytes | null,
): StudioReply {
  return {
    ...studioTokens(replyIds, bytesOf),
    logprobs: Array.from(logprobs, finite),
    versions: Array.from(versions),
  };
}

/** JSON has no infinities: log 0 becomes the lowest number there is. */
export function finite(value: number): number {
  if (Number.isFinite(value)) return value;
  return value > 0 ? Number.MAX_VALUE : -Number.MAX_VALUE;
}
