import { type ExactOptions, exactOptionsSchema, type Grader } from "../../schema/grader.ts";
import { GraderError } from "../errors.ts";
import { truthText } from "./truth.ts";

function answerIn(message: string, pattern: string | undefined): string | null {
  if (pattern === undefined) return message;
  let expression: RegExp;
  try {
    expression = new RegExp(pattern, "gsu");
  } catch (cause) {
    throw new GraderError("exact", `pattern ${JSON.stringify(pattern)} is no regular expression.`, "Fix it.", cause);
  }
  const last = [...message.matchAll(expression)].at(-1);
  return last ? (last[1] ?? last[0]) : null;
}

function normalise(text: string, ignoreCase: boolean): string {
  const trimmed = text.normalize("NFC").trim();
  return ignoreCase ? trimmed.toLowerCase() : trimmed;
}

/** 1 when the answer is the truth, surrounding blanks aside; reasons: match, mismatch, no_answer. */
export const exact: Grader<ExactOptions> = {
  name: "exact",
  optionsSchema: exactOptionsSchema,
  grade({ task, finalMessage }, { field, pattern, ignoreCase }) {
    const truth = truthText("exact", task, field);
    const answer = finalMessage === null ? null : answerIn(finalMessage, pattern);
    if (answer === null) return { value: 0, reason: "no_answer" };
    const equal = normalise(answer, ignoreCase) === normalise(truth, ignoreCase);
    return equal ? { value: 1, reason: "match" } : { value: 0, reason: "mismatch" };
  },
};
