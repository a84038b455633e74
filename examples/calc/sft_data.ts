/** The two stages of the base checkpoint's supervised training, as `leyden sft --data sft_data.ts#clean` takes them. */
import { type SftRow, sftRow } from "./conversation.ts";
import { type Stage, traceAt } from "./traces.ts";

/** Traces of each stage. */
const traces = 6000;

interface Options {
  encode(text: string): number[];
  seed: number;
}

interface Dataset {
  size: number;
  example(index: number): SftRow;
}

const stage =
  (name: Stage) =>
  ({ encode, seed }: Options): Dataset => ({
    size: traces,
    example: (index) => sftRow(traceAt(name, seed, index), encode),
  });

/** Traces without mistakes. */
export const clean: (options: Options) => Dataset = stage("clean");
/** Traces with every mistake that reinforcement learning is to remove. */
export const noisy: (options: Options) => Dataset = stage("noisy");
