/** What the planner and its workers say and are told, and what a worker finds in a box. */

/** A box on a shelf: it is labelled with one item and holds that and another. */
export interface Box {
  label: string;
  number: string;
  /** Items and their values, such as "stamps 12 ropes 57". */
  holds: string;
}

/** A report to make, as the agent's program has it. */
export interface Job {
  /** Items to report, in this order. */
  items: string[];
  /** Values that are known from the start. */
  known: Record<string, string>;
  /** Boxes where a worker may look for an item; none for what is known. */
  shelves: Record<string, Box[]>;
}

/** What a worker's reply asks for; null when it is neither. */
export type WorkerAction = { kind: "open"; box: string } | { kind: "say"; value: string } | null;

/** Items there are. */
export const itemNames: readonly string[] = ["pens", "eggs", "cups", "coins", "books", "nuts", "keys", "maps"];
/** Workers the planner may ask at once. */
export const maxWorkers = 4;
/** Calls of one worker. */
export const maxWorkerCalls = 4;

/** The planner's first message. */
export function planMessage({ items, known }: Job): string {
  const facts = items.filter((item) => Object.hasOwn(known, item)).map((item) => `known ${item} ${known[item]}\n`);
  return `${facts.join("")}report ${items.join(" ")}`;
}

/** What the workers brought. */
export function resultsMessage(results: readonly { item: string; value: string }[]): string {
  return results.map(({ item, value }) => `got ${item} ${value}`).join("\n");
}

/** The items that the planner asks for; null when it does not ask. */
export function readAsk(reply: string): string[] | null {
  const [verb, ...items] = reply.split(" ");
  const asks = verb === "ask" && items.length >= 1 && items.length <= maxWorkers;
  return asks && items.every((item) => itemNames.includes(item)) ? items : null;
}

function shelfOf({ shelves }: Job, item: string): readonly Box[] {
  return Object.hasOwn(shelves, item) ? (shelves[item] as Box[]) : [];
}

/** A worker's first message: the shelf, then what to find. */
export function searchMessage(job: Job, item: string): string {
  const boxes = shelfOf(job, item).map(({ label, number }) => `box ${label} ${number}\n`);
  return `${boxes.length === 0 ? "box empty\n" : boxes.join("")}find ${item}`;
}

/** What a worker sees in a box. */
export function boxMessage(job: Job, item: string, number: string): string {
  const box = shelfOf(job, item).find((candidate) => candidate.number === number);
  return `in ${box?.holds ?? "empty"}\nfind ${item}`;
}

/** Reads a worker's reply: "open stamps 6" or "say stamps 12"; a value that is no number is "none". */
export function readWorkerReply(reply: string): WorkerAction {
  const words = reply.split(" ");
  const [verb, , last = ""] = words;
  if (words.length !== 3) return null;
  if (verb === "say") return { kind: "say", value: /^\d+$/.test(last) ? last : "none" };
  return verb === "open" && /^\d+$/.test(last) ? { kind: "open", box: last } : null;
}
