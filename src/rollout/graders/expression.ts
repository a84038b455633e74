import { type ExpressionOptions, expressionOptionsSchema, type Grader } from "../../schema/grader.ts";
import { GraderError } from "../errors.ts";
import { expressionFault } from "./expression_language.ts";

/**
 * The value of an expression of the Common Expression Language over `message` (the last reply, "" without one), `answer`
 * (hidden.answer), `input`, `hidden`, `replies` (texts of all calls), `calls` (how many) and `numbers(text)` (the numbers
 * of a text, as they are written). true is 1. Nothing else can be reached from it, and it has a time limit. Reason:
 * expression.
 */
export const expression: Grader<ExpressionOptions> = {
  name: "expression",
  optionsSchema: expressionOptionsSchema.superRefine(({ reward }, context) => {
    const fault = expressionFault(reward);
    if (fault !== null) context.addIssue({ code: "custom", path: ["reward"], message: fault });
  }),
  async grade({ task, finalMessage, calls }, { reward }, { bounded }) {
    const facts = {
      message: finalMessage ?? "",
      answer: task.hidden.answer,
      input: task.input,
      hidden: task.hidden,
      replies: calls.map(({ text }) => text ?? ""),
      calls: calls.length,
    };
    const { value, fault } = await bounded.ask({ kind: "expression", reward, facts });
    if (fault === null) return { value: Number(value), reason: "expression" };
    throw new GraderError("expression", `${JSON.stringify(reward)} failed: ${fault}.`, "Correct it.");
  },
};
