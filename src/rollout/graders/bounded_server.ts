/** The worker's end of what people's own expressions and patterns compute for graders. */
import { asLeydenError } from "../../core/errors.ts";
import type { BoundedAnswer, BoundedQuestion } from "../../schema/grader.ts";
import type { WorkerPort } from "../../schema/platform.ts";
import { expressionValue } from "./expression_language.ts";

/** First message of the worker: from now on time counts. */
export const boundedReady = "bounded_ready";

function lastMatch(pattern: string, text: string): string | null {
  const last = [...text.matchAll(new RegExp(pattern, "gsu"))].at(-1);
  return last ? (last[1] ?? last[0]) : null;
}

/** What a question asks for; it may take as long as it likes. */
export function answerBounded(question: BoundedQuestion): BoundedAnswer {
  try {
    const isExpression = question.kind === "expression";
    const value = isExpression
      ? expressionValue(question.reward, question.facts)
      : lastMatch(question.pattern, question.text);
    return { value, fault: null };
  } catch (thrown) {
    const isUnread = question.kind === "pattern" && thrown instanceof SyntaxError;
    return { value: null, fault: isUnread ? "it is no regular expression" : asLeydenError(thrown).message };
  }
}

/** Answers an owner's questions in their order. */
export function serveBounded(port: WorkerPort): void {
  port.onMessage((message) => port.post(answerBounded(message as BoundedQuestion)));
  port.post(boundedReady);
}
