/** The forms that most exercises take: one of several answers, a number read off the runs, an edited value. */
import type { ChoiceExercise, EditExercise, LessonRun, LessonRuns, NumberExercise, Verdict } from "leyden";
import { shown } from "./reading.ts";

/** The verdict for an exercise's key: its texts are KEYRight and KEYWrong. */
export function verdict(key: string, ok: boolean): Verdict {
  return { ok, feedback: `${key}${ok ? "Right" : "Wrong"}` };
}

/** What is said where a run is not there yet. */
const notRun: Verdict = { ok: false, feedback: "runFirst" };

/** One of several answers. */
export function choice(key: string, options: readonly string[], right: string): ChoiceExercise {
  return {
    kind: "choice",
    key,
    options,
    check: (answer) => verdict(key, answer === right),
    solution: () => right,
  };
}

const decimal = /^[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?$/i;
/** "1,000" is a thousand to some and one to others. */
const grouped = /^[+-]?[1-9]\d{0,2}(,\d{3})+(\.|$)/;

/** A number as people type it, in digits of any width, with a point or a comma; NaN for other texts, and for doubtful ones. */
export function typedNumber(answer: string): number {
  const text = answer.normalize("NFKC").trim().replace("−", "-");
  if (grouped.test(text)) return Number.NaN;
  const pointed = text.replace(",", ".");
  return decimal.test(pointed) ? Number(pointed) : Number.NaN;
}

/** A number that the learner's own runs hold, right to so many digits after the point. */
export function number(
  key: string,
  digits: number,
  expected: (runs: LessonRuns) => number | null | undefined,
): NumberExercise {
  return {
    kind: "number",
    key,
    check: (answer, runs) => {
      const value = expected(runs);
      if (value === null || value === undefined) return notRun;
      const typed = typedNumber(answer);
      if (!Number.isFinite(typed)) return { ok: false, feedback: "typeNumber" };
      return verdict(key, Math.abs(typed - value) <= 0.5 * 10 ** -digits + 1e-9);
    },
    solution: (runs) => shown(expected(runs), digits),
  };
}

/** What an edited run is started with and what has to hold of it. */
export interface EditTerms {
  kind: EditExercise["kind"];
  from: string;
  path: string;
  initial: string;
  solution: string;
}

/** A value to be changed, so that something holds of the run with it. */
export function edit(key: string, { solution, ...terms }: EditTerms, holds: (run: LessonRun) => boolean): EditExercise {
  return {
    key,
    ...terms,
    check: (_answer, runs) => {
      const run = runs[key];
      return run === undefined ? notRun : verdict(key, holds(run));
    },
    solution: () => solution,
  };
}
