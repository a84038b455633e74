/** Rows for supervised training: given and sampled pieces of text, and the warm-up that makes a model look things up. */
import { deriveKey, Rng, seedKey } from "leyden";

/** A piece of a conversation; the policy is to sample it, or is given it. */
export interface Segment {
  text: string;
  sampled: boolean;
}

/** Token ids of a row; mask is 1 where the model learns to write the token. Both have one length. */
export interface SftRow {
  ids: Int32Array;
  mask: Uint8Array;
}

/** What the trainer passes: how text becomes token ids, and the seed of the data. */
export interface SftOptions {
  encode(text: string): number[];
  seed: number;
}

/** Rows by number; the same number is always the same row. */
export interface SftRows {
  size: number;
  example(index: number): SftRow;
}

const userStart = "<|im_start|>user\n";
const replyStart = "<|im_end|>\n<|im_start|>assistant\n";
/** What ends a sampled reply. */
export const replyEnd = "<|im_end|>";

/** A message to the model, up to the place where it goes on; `follows`: it comes after a reply. */
export function messageText(content: string, follows = false): string {
  return `${follows ? "\n" : ""}${userStart}${content}\n${replyStart}`;
}

/** A chat as given and sampled pieces: messages and replies in turns. */
export function chatSegments(turns: readonly { message: string; reply: string }[]): Segment[] {
  return turns.flatMap(({ message, reply }, i) => [
    { text: messageText(message, i > 0), sampled: false },
    { text: reply + replyEnd, sampled: true },
  ]);
}

/** Pieces as token ids, loss on the sampled ones. */
export function sftRow(segments: readonly Segment[], encode: SftOptions["encode"]): SftRow {
  const pieces = segments.map(({ text, sampled }) => ({ ids: encode(text), sampled: Number(sampled) }));
  return {
    ids: Int32Array.from(pieces.flatMap(({ ids }) => ids)),
    mask: Uint8Array.from(pieces.flatMap(({ ids, sampled }) => ids.map(() => sampled))),
  };
}

/** What a recall row draws from. */
export interface RecallWords {
  keys: readonly string[];
  values: readonly string[];
}

const recallRows = 20_000;
const recallQuestions = 8;

/**
 * Rows of two to four pairs "key value", then eight of the keys with their values, loss on those. Tells a model that
 * the same word was followed by something before: without it a small decoder stays at chance for a thousand steps on
 * tasks that need such looking up, with it some hundreds suffice.
 */
export function recall({ keys, values }: RecallWords, { encode, seed }: SftOptions): SftRows {
  return {
    size: recallRows,
    example: (index) => {
      const rng = new Rng(deriveKey(seedKey(seed), "toy/recall", index));
      const asked = rng.shuffled(keys).slice(0, 2 + rng.below(Math.min(3, keys.length - 1)));
      const shuffled = rng.shuffled(values);
      const pairs = asked.map((key, i) => ({ key, value: shuffled[i] as string }));
      const segments = pairs.map(({ key, value }) => ({ text: key + value, sampled: false }));
      for (let i = 0; i < recallQuestions; i++) {
        const { key, value } = rng.pick(pairs);
        segments.push({ text: key, sampled: false }, { text: value, sampled: true });
      }
      return sftRow(segments, encode);
    },
  };
}
