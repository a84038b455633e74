/**
 * Endless training tasks and fixed held-out ones from one generator. A task belongs to a split by a hash of what the
 * agent is given, so no seed can ever make the two meet.
 */
import { type Dataset, deriveKey, Rng, seedKey, type TaskRow, type TaskStream } from "leyden";

/** The part of all tasks a task comes from. */
export type Split = "train" | "heldOut";

/** A family of tasks. */
export interface TaskFamily {
  /** Begins the ids of its tasks. */
  name: string;
  /** How many kinds there are; held-out tasks have each equally often. */
  kinds: number;
  /** A task, of one kind (0 and up) or of any; its id does not matter. */
  draw(rng: Rng, kind?: number): Pick<TaskRow, "input" | "hidden">;
  /** What of a task decides its split, where that is less than its whole input: all parts have to lie in the split. */
  parts?(input: TaskRow["input"]): TaskRow["input"][];
}

const heldOutCount = 200;
const heldOutSeed = 10_000;
/** One task in this many is held out. */
const heldOutShare = 8;
const inputKey = seedKey(0);

function inputHash(input: TaskRow["input"]): readonly [number, number] {
  return deriveKey(inputKey, "input", JSON.stringify(input));
}

/** Which split a task belongs to: a fixed function of its input. */
export function splitOf(input: TaskRow["input"]): Split {
  return inputHash(input)[0] % heldOutShare === 0 ? "heldOut" : "train";
}

/** One task of a split. */
export function drawTask(family: TaskFamily, rng: Rng, split: Split, kind?: number): TaskRow {
  for (;;) {
    const { input, hidden } = family.draw(rng, kind);
    const parts = family.parts?.(input) ?? [input];
    if (parts.some((part) => splitOf(part) !== split)) continue;
    const id = inputHash(input).map((word) => word.toString(16).padStart(8, "0"));
    return { id: `${family.name}-${id.join("")}`, input, hidden };
  }
}

/** Tasks of the training split, none twice, remembered as far as they were asked for. */
class TrainStream implements TaskStream {
  readonly length = Number.POSITIVE_INFINITY;
  private readonly family: TaskFamily;
  private readonly rng: Rng;
  private readonly rows: TaskRow[] = [];
  private readonly seen = new Set<string>();

  constructor(family: TaskFamily, seed: number) {
    this.family = family;
    this.rng = new Rng(deriveKey(seedKey(seed), `${family.name}/train`));
  }

  at(index: number): TaskRow {
    while (this.rows.length <= index) {
      const row = drawTask(this.family, this.rng, "train");
      if (this.seen.has(row.id)) continue;
      this.seen.add(row.id);
      this.rows.push(row);
    }
    return this.rows[index] as TaskRow;
  }
}

function drawHeldOut(family: TaskFamily): TaskRow[] {
  const rng = new Rng(deriveKey(seedKey(heldOutSeed), `${family.name}/held-out`));
  const rows = new Map<string, TaskRow>();
  while (rows.size < heldOutCount) {
    const row = drawTask(family, rng, "heldOut", rows.size % family.kinds);
    rows.set(row.id, row);
  }
  return [...rows.values()];
}

/** Training tasks by seed without end, and 200 held-out tasks. */
export function splitDataset(family: TaskFamily): Dataset {
  return { train: (seed) => new TrainStream(family, seed), heldOut: drawHeldOut(family) };
}
