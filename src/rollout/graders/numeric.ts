import { type Grader, type NumericOptions, numericOptionsSchema } from "../../schema/grader.ts";
import { GraderError } from "../errors.ts";
import { truthText } from "./truth.ts";

const numberPattern = /-?\d+(?:\.\d+)?/g;

/**
 * 1 when the final message holds exactly one number and it is the truth. One number only: an agent that lists several
 * is not paid for a lucky one. Reasons: match, mismatch, no_number, several_numbers.
 */
export const numeric: Grader<NumericOptions> = {
  name: "numeric",
  optionsSchema: numericOptionsSchema,
  grade({ task, finalMessage }, { field, tolerance }) {
    const truth = truthText("numeric", task, field);
    if (tolerance !== null && !Number.isFinite(Number(truth))) {
      throw new GraderError(
        "numeric",
        `the truth "${truth}" of task ${task.id} is no number.`,
        "Set tolerance to null.",
      );
    }
    const numbers = finalMessage?.match(numberPattern) ?? [];
    if (numbers.length !== 1) return { value: 0, reason: numbers.length === 0 ? "no_number" : "several_numbers" };
    const [answer] = numbers as [string];
    const equal = tolerance === null ? answer === truth : Math.abs(Number(answer) - Number(truth)) <= tolerance;
    return equal ? { value: 1, reason: "match" } : { value: 0, reason: "mismatch" };
  },
};
