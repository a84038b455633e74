/** The two stages of supervised training that made the base model: `sft.ts#clean`, then `sft.ts#noisy`. */
import { type SftRow, sftRow } from "./conversation.ts";
import { type Stage, traceAt } from "./traces.ts";

/** Traces of a stage. */
const stageTraces = 6000;

/** What the trainer passes: how text becomes token ids, and the seed of the data. */
export interface SftOptions {
  encode(text: string): number[];
  seed: number;
}

/** Rows by number, made when they are asked for. */
export interface SftRows {
  size: number;
  example(index: number): SftRow;
}

function rows(stage: Stage, { encode, seed }: SftOptions): SftRows {
  return { size: stageTraces, example: (index) => sftRow(traceAt(stage, seed, index), encode) };
}

/** 6,000 traces without a mistake. */
export function clean(options: SftOptions): SftRows {
  return rows("clean", options);
}

/** 6,000 traces with every mistake that reinforcement learning is to remove. */
export function noisy(options: SftOptions): SftRows {
  return rows("noisy", options);
}
