import { deriveKey, type RngKey, seedKey } from "../../src/core/rng.ts";

/** The hash of a list of token ids, 64 bits in two words, from which the hash of a longer list goes on. */
export type IdsHash = readonly [number, number];

/** The hash of no ids. */
export const emptyHash: IdsHash = [0x811c9dc5, 0x9747b28c];

/** The hash of what was hashed before and, after it, `ids` from the place `from` on; FNV-1a-like. */
export function hashOn([first, second]: IdsHash, ids: ArrayLike<number>, from = 0): IdsHash {
  let [a, b] = [first, second];
  for (let at = from; at < ids.length; at++) {
    const id = ids[at] as number;
    a = Math.imul(a ^ id, 0x01000193) >>> 0;
    b = Math.imul(b ^ (id + 0x9e3779b9), 0x85ebca6b) >>> 0;
    b = (b ^ (b >>> 15)) >>> 0;
  }
  return [a, b];
}

function hexOf([first, second]: IdsHash): string {
  return [first, second].map((word) => word.toString(16).padStart(8, "0")).join("");
}

/**
 * Names what is sampled: the policy, the prompt's ids (by their hash) and the settings. The attempt is not in it, nor the
 * policy's version: a second attempt of a rollout draws what the first one drew.
 */
export function promptKey(policy: string, prompt: IdsHash, settings: Readonly<Record<string, unknown>>): string {
  return hexOf(deriveKey([0, 0], policy, JSON.stringify(settings), hexOf(prompt)));
}

/** The key of the draw number `occurrence` of a prompt in its attempt, counted from 0. */
export function callKeyOf(prompt: string, occurrence: number): string {
  return `${prompt}.${occurrence}`;
}

/** Key of a call's random stream. */
export function streamKey(seed: number, rolloutId: string, callKey: string): RngKey {
  return deriveKey(seedKey(seed), rolloutId, callKey);
}

/** Ids of a reply's tool calls: the same in every run, and different from any other call's of the rollout. */
export function toolCallId(prefix: string, stream: RngKey, index: number): string {
  const words = deriveKey(stream, "tool call", index);
  return `${prefix}${words.map((word) => word.toString(16).padStart(8, "0")).join("")}`;
}
