/** Scripted conversations of clerks: faultless ones, and ones with every habit that the lessons train away. */
import { deriveKey, Rng, seedKey } from "leyden";
import { compute, maxCalls, type Step, type Use, useText } from "./desk.ts";
import { drawTrainQuestion, type Question } from "./tasks.ts";

/** Probabilities of each habit. */
export interface Noise {
  /** Rambles instead of working, and guesses. */
  ramble: number;
  /** Works the machine both ways and answers with both results. */
  hedge: number;
  /** Takes the mistaken way, by kind of question. */
  wrong: readonly [number, number, number, number];
  /** Asks the machine the same again, after the right way and after the mistaken one. */
  again: readonly [right: number, wrong: number];
  /** Answers with another number than the result. */
  miscopy: number;
  /** Writes a number of two digits as two tokens. */
  spell: number;
}

/** Names of the two stages. */
export type Stage = "clean" | "noisy";

/** The habits of each stage. */
export const stageNoise: Readonly<Record<Stage, Noise>> = {
  clean: { ramble: 0, hedge: 0, wrong: [0, 0, 0, 0], again: [0, 0], miscopy: 0, spell: 0.25 },
  noisy: {
    ramble: 0.1,
    hedge: 0.15,
    wrong: [0.15, 0.3, 0.5, 0.3],
    again: [0.08, 0.45],
    miscopy: 0.03,
    spell: 0.25,
  },
};

/** A conversation: the steps on the machine and the final reply. */
export interface Trace {
  question: Question;
  steps: Step[];
  final: string;
}

/** Words "well" at most before a guess. */
const longestRamble = 10;

function ramble(rng: Rng): string {
  const wells = 2 + rng.below(longestRamble - 1);
  return `${"well ".repeat(wells)}answer ${rng.below(100)}`;
}

const stepOf = (use: Use): Step => ({ reply: useText(use), use, result: compute(use) });

function answer(results: readonly string[]): string {
  const numbers = results.filter((result) => result !== "error");
  return `answer ${numbers.length === 0 ? "0" : numbers.join(" ")}`;
}

function hedge({ right, wrong }: Question, rng: Rng): Pick<Trace, "steps" | "final"> {
  const steps = rng.shuffled([stepOf(right), stepOf(wrong)]);
  return { steps, final: answer(steps.map(({ result }) => result)) };
}

/** A trace of a question with the given habits. */
export function drawTrace(question: Question, rng: Rng, noise: Noise): Trace {
  if (rng.uniform() < noise.ramble) return { question, steps: [], final: ramble(rng) };
  if (rng.uniform() < noise.hedge) return { question, ...hedge(question, rng) };
  const isWrong = rng.uniform() < (noise.wrong[question.kind] as number);
  const step = stepOf(isWrong ? question.wrong : question.right);
  const steps = [step];
  while (steps.length < maxCalls - 1 && rng.uniform() < noise.again[isWrong ? 1 : 0]) steps.push(step);
  const miscopied = rng.uniform() < noise.miscopy;
  return { question, steps, final: answer([miscopied ? String(rng.below(100)) : step.result]) };
}

/** Trace number `index` of a stage under a seed, of a question of the training split. */
export function traceAt(stage: Stage, seed: number, index: number): Trace {
  const rng = new Rng(deriveKey(seedKey(seed), "clerk/traces", stage, index));
  return drawTrace(drawTrainQuestion(rng), rng, stageNoise[stage]);
}
