/** What a reply has to be, in common terms: which tools it calls, whether several at once, and the form of its text. */
import type { ToolDefinition } from "../../src/schema/chat.ts";
import type { ConstraintSpec } from "../../src/schema/token_constraint.ts";
import type { JsonObject } from "./dialect.ts";
import { invalid } from "./request_fields.ts";

/** Which tools a reply calls. */
export interface ToolChoice {
  mode: "auto" | "none" | "required";
  /** The tools that may be called; null for all of them. */
  names: readonly string[] | null;
}

/** The form of a reply's text. */
export type OutputFormat = { kind: "text" } | { kind: "json_object" } | { kind: "json_schema"; schema: unknown };

/** All of it, and the request's fields that ask for it: they are recorded as overridden where it is not followed. */
export interface ReplyForm {
  choice: ToolChoice;
  /** False allows one call at most. */
  parallelCalls: boolean;
  format: OutputFormat;
  /** Tools whose arguments must follow their schema (true) or need not (false); for others that is left to us. */
  strict?: ReadonlyMap<string, boolean>;
  fields: JsonObject;
}

/** What tools, each with its name and its field `strict`, say of how closely their schemas are to be followed. */
export function strictness(tools: readonly (readonly [name: unknown, strict: unknown])[]): Pick<ReplyForm, "strict"> & {
  fields: JsonObject;
} {
  const said = tools.filter((tool): tool is readonly [string, boolean] => typeof tool[1] === "boolean");
  const names = said.filter(([, strict]) => strict).map(([name]) => name);
  return { strict: new Map(said), fields: names.length === 0 ? {} : { strict_tools: names } };
}

/** Any tool may be called or none. */
export const autoChoice: ToolChoice = { mode: "auto", names: null };

/** A reply that may be anything. */
export const freeForm: ReplyForm = { choice: autoChoice, parallelCalls: true, format: { kind: "text" }, fields: {} };

/** A tool that has to be called must be offered. @throws ApiError 400 */
export function requireOffered(
  { mode, names }: ToolChoice,
  tools: readonly ToolDefinition[] | null,
  param: string,
): void {
  if (mode !== "required") return;
  for (const name of names ?? []) {
    if (tools?.some((tool) => tool.function.name === name)) continue;
    throw invalid(param, `Invalid '${param}': the tool ${JSON.stringify(name)} is not among the request's tools.`);
  }
}

/**
 * The reply's grammar; null when it may be anything, or nothing can be forced. `thinkingEnd`: what ends the thinking that
 * the prompt opens, which is free.
 */
export function constraintOf(
  form: ReplyForm,
  tools: readonly ToolDefinition[] | null,
  thinkingEnd: string | null = null,
): ConstraintSpec | null {
  const answer = answerOf(form, tools);
  return answer === null || thinkingEnd === null ? answer : { kind: "after_thinking", end: thinkingEnd, answer };
}

/** Arguments of a tool whose schema need not be followed. */
const anyArguments = { type: "object", additionalProperties: true };

function answerOf(form: ReplyForm, tools: readonly ToolDefinition[] | null): ConstraintSpec | null {
  const { choice, parallelCalls: parallel, format } = form;
  const text: ConstraintSpec | null = format.kind === "text" ? null : format;
  const offered = (tools ?? []).filter(({ function: { name } }) => choice.names?.includes(name) ?? true);
  if (choice.mode === "none" || offered.length === 0) return text;
  const required = choice.mode === "required";
  const strict = form.strict ?? new Map<string, boolean>();
  const isStrict = offered.some(({ function: { name } }) => strict.get(name) === true);
  const isFree = !required && parallel && choice.names === null && text === null && !isStrict;
  if (isFree) return null;
  const callable = offered.map(({ function: { name, parameters } }) => {
    // Any object: the tool's schema is not to be followed, or nothing but another tool's asks for a grammar.
    const isOpen = strict.get(name) === false || (isStrict && !strict.has(name) && !required);
    return { name, parameters: isOpen ? anyArguments : (parameters ?? {}) };
  });
  return { kind: "tool_calls", tools: callable, required, parallel, ...(text && !required ? { text } : {}) };
}

/** The format that a JSON schema of a request, its field `param`, asks for. @throws ApiError 400 */
export function schemaFormat(schema: unknown, param: string): OutputFormat {
  if (schema === undefined || schema === null || schema === true) return { kind: "json_object" };
  if (typeof schema === "object" && !Array.isArray(schema)) return { kind: "json_schema", schema };
  throw invalid(param, `Invalid '${param}': expected a JSON schema, an object.`);
}
