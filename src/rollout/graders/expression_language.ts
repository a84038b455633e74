import { Environment, type ParseResult } from "@marcbachmann/cel-js";
import { asLeydenError } from "../../core/errors.ts";
import type { ExpressionFacts } from "../../schema/grader.ts";

const numberPattern = /-?\d+(?:\.\d+)?/g;
/** Far beyond what a reward needs, and read in no time. */
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

/** What is wrong with a reward expression, in one line; null for a good one. Nothing of it is computed. */
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
 * The value of a reward expression; it may take as long as it likes. Booleans are 0 and 1, what is no number is NaN.
 * @throws Error in one line when it cannot be computed
 */
export function expressionValue(text: string, { answer, calls, ...facts }: ExpressionFacts): number {
  try {
    return toNumber(parse(text)({ ...facts, answer: answer ?? null, calls: BigInt(calls) }));
  } catch (thrown) {
    throw new Error(firstLine(thrown), { cause: thrown });
  }
}
