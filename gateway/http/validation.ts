import type { z } from "zod";
import { DetailError } from "./errors.ts";

/** One problem as Agent Lightning's clients know them. */
export interface ValidationProblem {
  type: string;
  loc: (string | number)[];
  msg: string;
  input: unknown;
  ctx?: Record<string, unknown>;
}

type Issue = z.core.$ZodIssue;

const typeNames: Readonly<Record<string, readonly [type: string, noun: string]>> = {
  string: ["string_type", "string"],
  int: ["int_type", "integer"],
  number: ["float_type", "number"],
  boolean: ["bool_type", "boolean"],
  array: ["list_type", "list"],
  object: ["model_attributes_type", "dictionary or object to extract fields from"],
  record: ["dict_type", "dictionary"],
};

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  let at = value;
  for (const key of path) at = (at as Record<PropertyKey, unknown> | null | undefined)?.[key];
  return at;
}

/** "'a', 'b' or 'c'" */
function alternatives(values: readonly unknown[]): string {
  const quoted = values.map((value) => `'${String(value)}'`);
  return quoted.length < 2 ? quoted.join("") : `${quoted.slice(0, -1).join(", ")} or ${quoted.at(-1)}`;
}

function problemsOf(issue: Issue, body: unknown): ValidationProblem[] {
  const loc = ["body", ...(issue.path as (string | number)[])];
  const input = valueAt(body, issue.path);
  if (issue.code === "unrecognized_keys") {
    return issue.keys.map((key) => ({
      type: "extra_forbidden",
      loc: [...loc, key],
      msg: "Extra inputs are not permitted",
      input: valueAt(input, [key]) ?? null,
    }));
  }
  if (input === undefined)
    return [{ type: "missing", loc, msg: "Field required", input: valueAt(body, issue.path.slice(0, -1)) ?? null }];
  if (issue.code === "invalid_value") {
    const expected = alternatives(issue.values);
    return [{ type: "enum", loc, msg: `Input should be ${expected}`, input, ctx: { expected } }];
  }
  // The message is what `expectedType` made of it.
  const expected = issue.code === "invalid_type" ? issue.message : "";
  const [type, noun] = typeNames[expected] ?? ["value_error", expected];
  const msg = noun === "" ? issue.message : `Input should be a valid ${noun}`;
  return [{ type, loc, msg, input }];
}

/** What was expected; unlike zod's own word it tells integers and numbers apart whatever came instead. */
const expectedType: z.core.$ZodErrorMap = (issue) => {
  if (issue.code !== "invalid_type") return undefined;
  return (issue.inst as { format?: unknown } | undefined)?.format === "safeint" ? "int" : issue.expected;
};

/** The body as the schema has it. @throws DetailError 422 with a list of problems */
export function validated<T>(schema: z.ZodType<T>, body: unknown): T {
  const result = schema.safeParse(body, { error: expectedType });
  if (result.success) return result.data;
  throw new DetailError(
    422,
    result.error.issues.flatMap((issue) => problemsOf(issue, body)),
  );
}

/** A missing or malformed query parameter. */
export function queryProblem(type: string, name: string, msg: string, input: unknown): DetailError {
  return new DetailError(422, [{ type, loc: ["query", name], msg, input }]);
}

/** An integer of the query. @throws DetailError 422 */
export function queryInteger(query: URLSearchParams, name: string, otherwise: number): number {
  const text = query.get(name);
  if (text === null) return otherwise;
  if (/^\s*[+-]?\d+\s*$/.test(text)) {
    if (Number.isSafeInteger(Number(text))) return Number(text);
    const msg = "Unable to parse input string as an integer, exceeded maximum size";
    throw queryProblem("int_parsing_size", name, msg, text);
  }
  const msg = "Input should be a valid integer, unable to parse string as an integer";
  throw queryProblem("int_parsing", name, msg, text);
}
