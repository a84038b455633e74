import { deriveKey, type RngKey, seedKey } from "../../src/core/rng.ts";

/** 64-bit FNV-1a-like hash of token ids, as two u32 words in hexadecimal. */
function hashIds(ids: Int32Array): string {
  let a = 0x811c9dc5;
  let b = 0x9747b28c;
  for (const id of ids) {
    a = Math.imul(a ^ id, 0x01000193) >>> 0;
    b = Math.imul(b ^ (id + 0x9e3779b9), 0x85ebca6b) >>> 0;
    b = (b ^ (b >>> 15)) >>> 0;
  }
  return [a, b].map((word) => word.toString(16).padStart(8, "0")).join("");
}

/**
 * Names what is sampled: the policy, the prompt's ids and the settings. The attempt is not in it, nor the policy's
 * version: a second attempt of a rollout draws what the first one drew.
 */
export function promptKey(policy: string, promptIds: Int32Array, settings: Readonly<Record<string, unknown>>): string {
  const [high, low] = deriveKey([0, 0], policy, JSON.stringify(settings), hashIds(promptIds));
  return [high, low].map((word) => word.toString(16).padStart(8, "0")).join("");
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
