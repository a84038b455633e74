/**
 * The calc task: arithmetic word problems of ten kinds, drawn from a seed without end. A question belongs to the
 * training split or to the held-out split by a hash of its text, so no seed can ever make the two meet.
 */
import { type Dataset, deriveKey, Rng, seedKey, type TaskRow, type TaskStream } from "leyden";
import { drawValues, type KindName, kinds, type Values } from "./kinds.ts";

/** The half of all questions a task comes from. */
export type Split = "train" | "heldOut";

/** A question with everything that made it. */
export interface Problem {
  kind: KindName;
  question: string;
  values: Values;
  answer: string;
}

const heldOutCount = 200;
const heldOutSeed = 10_000;
/** One question in this many is held out. */
const heldOutShare = 8;
const kindNames = Object.keys(kinds) as KindName[];
const questionKey = seedKey(0);

function hashQuestion(question: string): readonly [number, number] {
  return deriveKey(questionKey, "question", question);
}

/** Which split a question belongs to: a fixed function of its text. */
export function splitOf(question: string): Split {
  return hashQuestion(question)[0] % heldOutShare === 0 ? "heldOut" : "train";
}

/** One question of a split: the kind uniform (or given), the rest as the kind draws it. */
export function drawProblem(rng: Rng, split: Split, kind: KindName = rng.pick(kindNames)): Problem {
  for (;;) {
    const values = drawValues(rng);
    kinds[kind].constrain?.(values, rng);
    const question = rng.pick(kinds[kind].texts)(values);
    if (splitOf(question) === split) {
      return { kind, question, values, answer: String(kinds[kind].answer(values)) };
    }
  }
}

function toRow(problem: Problem): TaskRow {
  const id = hashQuestion(problem.question).map((word) => word.toString(16).padStart(8, "0"));
  return {
    id: `calc-${problem.kind}-${id.join("")}`,
    input: { question: problem.question },
    hidden: { answer: problem.answer, kind: problem.kind },
  };
}

/** Problems of one split, none twice, remembered as far as they were asked for. */
class ProblemStream implements TaskStream {
  readonly length = Number.POSITIVE_INFINITY;
  private readonly rng: Rng;
  private readonly rows: TaskRow[] = [];
  private readonly seen = new Set<string>();

  constructor(seed: number) {
    this.rng = new Rng(deriveKey(seedKey(seed), "calc/train"));
  }

  at(index: number): TaskRow {
    while (this.rows.length <= index) {
      const problem = drawProblem(this.rng, "train");
      if (this.seen.has(problem.question)) continue;
      this.seen.add(problem.question);
      this.rows.push(toRow(problem));
    }
    return this.rows[index] as TaskRow;
  }
}

function drawHeldOut(): TaskRow[] {
  const rng = new Rng(deriveKey(seedKey(heldOutSeed), "calc/held-out"));
  const rows = new Map<string, TaskRow>();
  while (rows.size < heldOutCount) {
    const row = toRow(drawProblem(rng, "heldOut", kindNames[rows.size % kindNames.length]));
    rows.set(row.id, row);
  }
  return [...rows.values()];
}

/** Endless training tasks by seed, and 200 held-out tasks, 20 of each kind. */
export const dataset: Dataset = {
  train: (seed) => new ProblemStream(seed),
  heldOut: drawHeldOut(),
};
