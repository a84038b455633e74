import { type ExactOptions, exactOptionsSchema, type Grader, type GradeTools } from "../../schema/grader.ts";
import { GraderError } from "../errors.ts";
import { truthText } from "./truth.ts";

/** The answer in a message; null when there is none. */
async function answerIn(message: string, pattern: string | undefined, { bounded }: GradeTools): Promise<string | null> {
  if (pattern === undefined) return message;
  const { value, fault } = await bounded.ask({ kind: "pattern", pattern, text: message });
  if (fault === null) return value === null ? null : String(value);
  throw new GraderError("exact", `pattern ${JSON.stringify(pattern)} ${fault.replace(/^it /, "")}.`, "Fix it.");
}

function normalise(text: string, ignoreCase: boolean): string {
  const trimmed = text.normalize("NFC").trim();
  return ignoreCase ? trimmed.toLowerCase() : trimmed;
}

/** 1 when the answer is the truth, surrounding blanks aside; reasons: match, mismatch, no_answer. */
export const exact: Grader<ExactOptions> = {
  name: "exact",
  optionsSchema: exactOptionsSchema,
  async grade({ task, finalMessage }, { field, pattern, ignoreCase }, tools) {
    const truth = truthText("exact", task, field);
    const answer = finalMessage === null ? null : await answerIn(finalMessage, pattern, tools);
    if (answer === null) return { value: 0, reason: "no_answer" };
    const equal = normalise(answer, ignoreCase) === normalise(truth, ignoreCase);
    return equal ? { value: 1, reason: "match" } : { value: 0, reason: "mismatch" };
  },
};
