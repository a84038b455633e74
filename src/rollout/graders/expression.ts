import { Environment, type ParseResult } from "@marcbachmann/cel-js";
import { asLeydenError } from "../../core/errors.ts";
import { type ExpressionOptions, expressionOptionsSchema, type Grader } from "../../schema/grader.ts";
import { GraderError } from "../errors.ts";

const numberPattern = /-?\d+(?:\.\d+)?/g;
/** Far beyond what a reward needs, far below what holds a thread up. */
const limits = { maxAstNodes: 1000, maxDepth: 64 };

const environment = new Environment({ limits })
  .registerVariable("message", "string")
  .registerVariable("answer", "dyn")
  .registerVariable("input", "map<string, dyn>")
  .registerVariable("hidden", "map<string, dyn>")
  .registerVariable("replies", "list<string>")
  .registerVariable("calls", "int")
  .registerFunction("numbers(string): list<string>", (text: string) => text.match(numberPattern) ?? []);

const resultTypes = ["double", "int", "uint", "bool", "dyn"];

/** Expressions that were parsed once, by their texts: every rollout of a run has the same one. */
const parsed = new Map<string, ParseResult>();
const mostParsed = 64;

function parse(text: string): ParseResult {
  const known = parsed.get(text);
  if (known !== undefined) return known;
  const fresh = environment.parse(text);
  if (parsed.size >= mostParsed) parsed.clear();
  parsed.set(text, fresh);
  return fresh;
}

/** What is wrong with a reward expression, in one line; null for a good one. */
export function expressionFault(text: string): string | null {
  try {
    const { valid, type, error } = parse(text).check();
    if (!valid) return firstLine(error);
    return resultTypes.includes(String(type)) ? null : `its value is of type ${type}, not a number or a truth value`;
  } catch (thrown) {
    return firstLine(thrown);
  }
}

function firstLine(thrown: unknown): string {
  return asLeydenError(thrown).message.split("\n")[0] ?? "it cannot be read";
}

function toNumber(value: unknown): number {
  if (typeof value === "boolean") return value ? 1 : 0;
  return typeof value === "number" || typeof value === "bigint" ? Number(value) : Number.NaN;
}

/**
 * The value of an expression of the Common Expression Language over `message` (the last reply, "" without one), `answer`
 * (hidden.answer), `input`, `hidden`, `replies` (texts of all calls), `calls` (how many) and `numbers(text)` (the numbers
 * of a text, as they are written). true is 1. Nothing else can be reached from it. Reason: expression.
 */
export const expression: Grader<ExpressionOptions> = {
  name: "expression",
  optionsSchema: expressionOptionsSchema.superRefine(({ reward }, context) => {
    const fault = expressionFault(reward);
    if (fault !== null) context.addIssue({ code: "custom", path: ["reward"], message: fault });
  }),
  grade({ task, finalMessage, calls }, { reward }) {
    const replies = calls.map(({ text }) => text ?? "");
    const facts = {
      message: finalMessage ?? "",
      answer: task.hidden.answer ?? null,
      input: task.input,
      hidden: task.hidden,
      replies,
      calls: BigInt(calls.length),
    };
    try {
      return { value: toNumber(parse(reward)(facts)), reason: "expression" };
    } catch (cause) {
      const fault = firstLine(cause);
      throw new GraderError("expression", `${JSON.stringify(reward)} failed: ${fault}.`, "Correct it.", cause);
    }
  },
};
