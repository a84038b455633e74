/**
 * Digit completion: continue an arithmetic sequence modulo 9. A prompt "x,y:9,n" asks for the n numbers after y, each
 * the one before plus y - x, modulo 9, joined by commas. All 1000 prompts with digits x, n in 0..9 and steps 0..9,
 * split at random, from a fixed seed, into 800 to train on and 200 held out. Steps 0 and 9 give the same prompt, so some
 * texts are on both sides, as they are in the data this task is taken from.
 */
import { type Dataset, deriveKey, Rng, seedKey, type TaskRow } from "leyden";

/** What every sequence is taken modulo of. */
export const modulus = 9;
const trainCount = 800;

/** The reply that earns everything. */
export function answerOf(prompt: string): string {
  const [terms = "", rule = ""] = prompt.split(":");
  const [x = 0, y = 0] = terms.split(",").map(Number);
  const [modulo = 1, count = 0] = rule.split(",").map(Number);
  const step = (((y - x) % modulo) + modulo) % modulo;
  return Array.from({ length: count }, (_, i) => (y + (i + 1) * step) % modulo).join(",");
}

/** Every prompt once, in order of first term, step and count. */
export function allPrompts(): string[] {
  const digits = Array.from({ length: 10 }, (_, i) => i);
  return digits.flatMap((x) => digits.flatMap((d) => digits.map((n) => `${x},${(x + d) % modulus}:${modulus},${n}`)));
}

function shuffled<T>(items: readonly T[], rng: Rng): T[] {
  const out = [...items];
  for (let i = out.length - 1; i > 0; i--) {
    const j = rng.below(i + 1);
    [out[i], out[j]] = [out[j] as T, out[i] as T];
  }
  return out;
}

const split = shuffled(allPrompts(), new Rng(deriveKey(seedKey(1), "digits/split")));

function toRow(prompt: string, index: number): TaskRow {
  return { id: `digits-${index}`, input: { prompt }, hidden: { answer: answerOf(prompt) } };
}

const rows = split.map(toRow);

/** Passes over the 800 training prompts, each in an order of its own, and the 200 held-out ones. */
export const dataset: Dataset = {
  train: (seed) => {
    const passes: TaskRow[][] = [];
    return {
      length: Number.POSITIVE_INFINITY,
      at(index) {
        const pass = Math.floor(index / trainCount);
        passes[pass] ??= shuffled(rows.slice(0, trainCount), new Rng(deriveKey(seedKey(seed), "digits/train", pass)));
        return passes[pass][index % trainCount] as TaskRow;
      },
    };
  },
  heldOut: rows.slice(trainCount),
};
