import type { TaskRow } from "../../schema/task.ts";
import { GraderError } from "../errors.ts";

/** A hidden field of the task. @throws GraderError "grader_failed" when it is missing */
export function truthOf(grader: string, task: TaskRow, field: string): unknown {
  const truth = task.hidden[field];
  if (truth === undefined) {
    throw new GraderError(grader, `task ${task.id} has no hidden field "${field}".`, "Set graderOptions.field.");
  }
  return truth;
}

/** A hidden field that is a text or a number, as text. @throws GraderError "grader_failed" */
export function truthText(grader: string, task: TaskRow, field: string): string {
  const truth = truthOf(grader, task, field);
  if (typeof truth === "string" || typeof truth === "number") return String(truth);
  throw new GraderError(
    grader,
    `hidden field "${field}" of task ${task.id} is ${JSON.stringify(truth)}, no text or number.`,
    "Store the expected answer as text.",
  );
}
