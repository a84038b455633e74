/** The clerk's tasks: questions of four kinds about numbers below 100. Each has a second question, for two clerks. */
import type { Dataset, Rng } from "leyden";
import { splitDataset, splitOf, type TaskFamily } from "../../toy/split_dataset.ts";
import { compute, type Use } from "./desk.ts";

/** A question, what it takes to answer it, and the mistake it invites. */
export interface Question {
  kind: number;
  text: string;
  right: Use;
  wrong: Use;
}

interface Kind {
  /** Two numbers, such that right and wrong results can be told apart. */
  draw(rng: Rng): [number, number];
  text(a: number, b: number): string;
  right(a: string, b: string): Use;
  wrong(a: string, b: string): Use;
}

const between = (rng: Rng, low: number, high: number): number => low + rng.below(high - low + 1);
const plus = (left: string, right: string): Use => ({ left, operator: "plus", right });
const minus = (left: string, right: string): Use => ({ left, operator: "minus", right });

/** A larger number and a smaller one, whose sum is below 100. */
function drawPair(rng: Rng): [number, number] {
  const b = between(rng, 2, 44);
  return [between(rng, b + 1, 99 - b), b];
}

/** The kinds of question, in the order that held-out tasks cycle through. */
const kinds: readonly Kind[] = [
  { draw: drawPair, text: (a, b) => `sum of ${a} and ${b}`, right: plus, wrong: minus },
  { draw: drawPair, text: (a, b) => `from ${a} take ${b}`, right: minus, wrong: plus },
  { draw: drawPair, text: (a, b) => `take ${b} from ${a}`, right: minus, wrong: plus },
  {
    draw: (rng) => [between(rng, 3, 49), 2],
    text: (a) => `double ${a}`,
    right: (a) => plus(a, a),
    wrong: (a) => plus(a, "2"),
  },
];

/** A question of one kind (0 to 3), or of any. */
export function drawQuestion(rng: Rng, kind: number = rng.below(kinds.length)): Question {
  const { draw, text, right, wrong } = kinds[kind] as Kind;
  const numbers = draw(rng);
  const [a, b] = numbers.map(String) as [string, string];
  return { kind, text: text(...numbers), right: right(a, b), wrong: wrong(a, b) };
}

/** A question of the training split. */
export function drawTrainQuestion(rng: Rng): Question {
  for (;;) {
    const question = drawQuestion(rng);
    if (splitOf({ question: question.text }) === "train") return question;
  }
}

/** Pairs of questions; the first one's kind is the task's. */
export const questions: TaskFamily = {
  name: "clerk",
  kinds: kinds.length,
  parts: ({ question, second }) => [{ question }, { question: second }],
  draw: (rng, kind) => {
    const [first, second] = [drawQuestion(rng, kind), drawQuestion(rng)];
    return {
      input: { question: first.text, second: second.text },
      hidden: { answer: compute(first.right), secondAnswer: compute(second.right), kind: first.kind },
    };
  },
};

/** Endless training tasks by seed, and 200 held-out ones, 50 of each kind. */
export const dataset: Dataset = splitDataset(questions);
