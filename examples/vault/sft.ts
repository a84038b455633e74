/** The three stages of supervised training that made the base model: `sft.ts#warmUp`, `sft.ts#clean`, `sft.ts#noisy`. */

import { numberWords } from "../toy/number_words.ts";
import { chatSegments, recall, type SftOptions, type SftRows, sftRow } from "../toy/sft_rows.ts";
import { messageFor } from "./rooms.ts";
import { colours } from "./tasks.ts";
import { type Stage, walkAt } from "./traces.ts";

/** Walks of a stage; each call is a row. */
const stageWalks = 2500;

function rows(stage: Stage, { encode, seed }: SftOptions): SftRows {
  const calls = Array.from({ length: stageWalks }, (_, i) => walkAt(stage, seed, i)).flatMap(({ vault, steps }) =>
    steps.map(({ notes, reply }) => ({ message: messageFor(vault, notes), reply })),
  );
  return { size: calls.length, example: (index) => sftRow(chatSegments(calls.slice(index, index + 1)), encode) };
}

/** Colours and their numbers, asked again. */
export function warmUp(options: SftOptions): SftRows {
  return recall({ keys: colours.map((colour) => ` ${colour}`), values: numberWords(10, 99, " ") }, options);
}

/** Calls of 2,500 straying walks, with what an expert would reply. */
export function clean(options: SftOptions): SftRows {
  return rows("clean", options);
}

/** Calls of 2,500 straying walks, with what was done. */
export function noisy(options: SftOptions): SftRows {
  return rows("noisy", options);
}
