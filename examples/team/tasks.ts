/** The team task: report the values of up to six items, some known, the others (0 to 4) each to be found by a worker. */
import type { Dataset, Rng } from "leyden";
import { numberWords } from "../toy/number_words.ts";
import { splitDataset, type TaskFamily } from "../toy/split_dataset.ts";
import { type Box, itemNames, type Job, maxWorkers } from "./messages.ts";

const boxesPerShelf = 3;
const boxNumbers = numberWords(1, 9);
const values = numberWords(10, 99);

/** How many of the items are known: at least one where nothing is to be found, none where four are. */
function drawKnownCount(rng: Rng, unknown: number): number {
  const least = unknown === 0 ? 1 : 0;
  const most = unknown < 3 ? 2 : maxWorkers - unknown;
  return least + rng.below(most - least + 1);
}

/** Three boxes; one is labelled with the item, and each holds its label's item and another one. */
function drawShelf(rng: Rng, item: string, valueByItem: ReadonlyMap<string, string>): Box[] {
  const others = rng.shuffled(itemNames.filter((name) => name !== item));
  const labels = rng.shuffled([item, ...others.slice(0, boxesPerShelf - 1)]);
  const second = others.slice(boxesPerShelf - 1);
  const numbers = rng.shuffled(boxNumbers);
  return labels.map((label, i) => {
    const held = rng.shuffled([label, second[i] as string]);
    const holds = held.map((name) => `${name} ${valueByItem.get(name)}`).join(" ");
    return { label, number: numbers[i] as string, holds };
  });
}

/** A job in which `unknown` items are to be found, and its right report. */
export function drawJob(rng: Rng, unknown: number): { job: Job; report: string } {
  const items = rng.shuffled(itemNames).slice(0, unknown + drawKnownCount(rng, unknown));
  const knownItems = new Set(rng.shuffled(items).slice(unknown));
  const valueByItem = new Map(itemNames.map((name) => [name, rng.pick(values)]));
  const known: Job["known"] = {};
  const shelves: Job["shelves"] = {};
  for (const item of items) {
    if (knownItems.has(item)) known[item] = valueByItem.get(item) as string;
    else shelves[item] = drawShelf(rng, item, valueByItem);
  }
  return {
    job: { items, known, shelves },
    report: `done ${items.map((item) => `${item} ${valueByItem.get(item)}`).join(" ")}`,
  };
}

/** Jobs; their kind is the number of items to be found. */
export const jobs: TaskFamily = {
  name: "team",
  kinds: maxWorkers + 1,
  draw: (rng, kind = rng.below(maxWorkers + 1)) => {
    const { job, report } = drawJob(rng, kind);
    return { input: { ...job }, hidden: { report, unknown: kind } };
  },
};

/** Endless training jobs by seed, and 200 held-out ones, 40 with each number of unknown items. */
export const dataset: Dataset = splitDataset(jobs);
