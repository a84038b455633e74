/** The stages of supervised training that made the base model: `sft.ts#warmUp`, `sft.ts#clean`, `sft.ts#noisy`. */

import { numberWords } from "../toy/number_words.ts";
import { chatSegments, recall, type SftOptions, type SftRows, sftRow } from "../toy/sft_rows.ts";
import { itemNames } from "./messages.ts";
import { type Stage, traceAt } from "./traces.ts";

/** Rollouts of a stage; each chat is a row. */
const stageTraces: Readonly<Record<Stage, number>> = { clean: 20_000, noisy: 4_000 };

function rows(stage: Stage, { encode, seed }: SftOptions): SftRows {
  const chats = Array.from({ length: stageTraces[stage] }, (_, i) => traceAt(stage, seed, i).chats).flat();
  return { size: chats.length, example: (index) => sftRow(chatSegments(chats[index] ?? []), encode) };
}

/** Items and their values, asked again. */
export function warmUp(options: SftOptions): SftRows {
  return recall({ keys: itemNames.map((item) => ` ${item}`), values: numberWords(10, 99, " ") }, options);
}

/** Chats of 20,000 faultless rollouts. */
export function clean(options: SftOptions): SftRows {
  return rows("clean", options);
}

/** Chats of 4,000 rollouts with mistakes. */
export function noisy(options: SftOptions): SftRows {
  return rows("noisy", options);
}
