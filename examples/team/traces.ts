/** Scripted rollouts of training jobs: faultless ones, and ones with every mistake that reinforcement learning removes. */
import { deriveKey, Rng, seedKey } from "leyden";
import { drawTask } from "../toy/split_dataset.ts";
import {
  type Box,
  boxMessage,
  type Job,
  maxWorkerCalls,
  maxWorkers,
  planMessage,
  resultsMessage,
  searchMessage,
} from "./messages.ts";
import { jobs } from "./tasks.ts";

/** Names of the two stages. */
export type Stage = "clean" | "noisy";

/** Probabilities of each mistake. */
export interface Noise {
  /** The planner leaves out an item it does not know. */
  forget: number;
  /** The planner asks for an item it knows. */
  needless: number;
  /** A worker opens a wrong box. */
  wrongBox: number;
  /** A worker reports the other item's value. */
  wrongValue: number;
  /** The planner swaps two neighbouring values. */
  swap: number;
  /** A worker gives up at once. */
  giveUp: number;
}

/** The mistakes of each stage. */
export const stageNoise: Readonly<Record<Stage, Noise>> = {
  clean: { forget: 0, needless: 0, wrongBox: 0, wrongValue: 0, swap: 0, giveUp: 0 },
  noisy: { forget: 0.15, needless: 0.2, wrongBox: 0.2, wrongValue: 0.15, swap: 0.12, giveUp: 0.04 },
};

/** How often a worker answers from a wrong box instead of trying another. */
const answersFromWrongBox = 0.4;

/** A message to the model and its reply. */
export interface Turn {
  message: string;
  reply: string;
}

/** The chats of a rollout, the planner's first, and whether its report is right. */
export interface Trace {
  chats: Turn[][];
  succeeded: boolean;
}

function chooseBox(shelf: readonly Box[], item: string, rng: Rng, noise: Noise): Box {
  const wrong = rng.uniform() < noise.wrongBox;
  return rng.pick(shelf.filter(({ label }) => (label === item) !== wrong));
}

/** Two values of a box, the item's own first where the box has it. */
function chooseValue({ holds }: Box, item: string, rng: Rng, noise: Noise): string {
  const held = [...holds.matchAll(/(\w+) (\d+)/g)].map(([, name = "", value = ""]) => ({ name, value }));
  const own = held.find(({ name }) => name === item);
  if (own !== undefined && rng.uniform() >= noise.wrongValue) return own.value;
  return rng.pick(held.filter(({ name }) => name !== item)).value;
}

function drawWorker(job: Job, item: string, rng: Rng, noise: Noise): { turns: Turn[]; value: string } {
  const shelf = job.shelves[item] ?? [];
  const message = searchMessage(job, item);
  const gaveUp = { turns: [{ message, reply: `say ${item} none` }], value: "none" };
  if (shelf.length === 0 || rng.uniform() < noise.giveUp) return gaveUp;
  const turns: Turn[] = [];
  let box: Box;
  let next = message;
  do {
    box = chooseBox(shelf, item, rng, noise);
    turns.push({ message: next, reply: `open ${box.label} ${box.number}` });
    next = boxMessage(job, item, box.number);
  } while (box.label !== item && turns.length < maxWorkerCalls - 1 && rng.uniform() >= answersFromWrongBox);
  const value = chooseValue(box, item, rng, noise);
  turns.push({ message: next, reply: `say ${item} ${value}` });
  return { turns, value };
}

/** The items that are asked for, in the order of the report. */
function drawAsk({ items, known }: Job, rng: Rng, noise: Noise): string[] {
  const isKnown = (item: string): boolean => Object.hasOwn(known, item);
  const asked = new Set(items.filter((item) => !isKnown(item)));
  if (asked.size > 0 && rng.uniform() < noise.forget) asked.delete(rng.pick([...asked]));
  const extra = items.filter(isKnown);
  if (rng.uniform() < noise.needless && extra.length > 0 && asked.size < maxWorkers) asked.add(rng.pick(extra));
  return items.filter((item) => asked.has(item));
}

function reportText({ items, known }: Job, found: ReadonlyMap<string, string>, rng: Rng, noise: Noise): string {
  const values = items.map((item) => known[item] ?? found.get(item) ?? "none");
  if (rng.uniform() < noise.swap && values.length > 1) {
    const at = rng.below(values.length - 1);
    values.splice(at, 2, values[at + 1] as string, values[at] as string);
  }
  return `done ${items.map((item, i) => `${item} ${values[i]}`).join(" ")}`;
}

/** A rollout of a job with the given mistakes. */
export function drawTrace(job: Job, rightReport: string, rng: Rng, noise: Noise): Trace {
  const asked = drawAsk(job, rng, noise);
  const workers = asked.map((item) => ({ item, ...drawWorker(job, item, rng, noise) }));
  const found = new Map(workers.map(({ item, value }) => [item, value]));
  const report = reportText(job, found, rng, noise);
  const plan = planMessage(job);
  const planner =
    asked.length === 0
      ? [{ message: plan, reply: report }]
      : [
          { message: plan, reply: `ask ${asked.join(" ")}` },
          { message: resultsMessage(workers), reply: report },
        ];
  return { chats: [planner, ...workers.map(({ turns }) => turns)], succeeded: report === rightReport };
}

/** Trace number `index` of a stage under a seed, of a training job. */
export function traceAt(stage: Stage, seed: number, index: number): Trace {
  const rng = new Rng(deriveKey(seedKey(seed), "team/traces", stage, index));
  const { input, hidden } = drawTask(jobs, rng, "train");
  return drawTrace(input as unknown as Job, String(hidden.report), rng, stageNoise[stage]);
}
