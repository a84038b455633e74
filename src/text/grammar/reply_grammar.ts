import type { ConstraintSpec } from "../../schema/token_constraint.ts";
import type { CallStructure } from "../tool_call_format.ts";
import { literal, prefixRules } from "./ebnf.ts";

type Calls = Extract<ConstraintSpec, { kind: "tool_calls" }>;

/** A part of a structural tag of the library. */
export type ReplyFormat =
  | { type: "grammar"; grammar: string }
  | { type: "any_text" }
  | { type: "tag"; begin: string; content: ReplyFormat; end: string }
  | { type: "sequence"; elements: ReplyFormat[] }
  | {
      type: "triggered_tags";
      triggers: string[];
      tags: ReplyFormat[];
      at_least_one: boolean;
      stop_after_first: boolean;
    };

/** EBNF of the values that a JSON schema allows, or of Qwen3-Coder's parameters for them; `root` names it in errors. */
export type SchemaToEbnf = (schema: unknown, form: "json" | "xml", root?: string) => Promise<string>;

/** Any text that does not begin like a call in Llama's JSON or in Python's list. */
const noCall = '"" | [^{[] [\\u0001-\\U0010FFFF]*';

/** What a reply may be. `structure`: how the model writes calls. */
export async function replyFormat(
  spec: ConstraintSpec,
  structure: CallStructure,
  toEbnf: SchemaToEbnf,
): Promise<ReplyFormat> {
  if (spec.kind === "after_thinking") {
    const thinking: ReplyFormat = { type: "tag", begin: "", content: { type: "any_text" }, end: spec.end };
    const then = await ebnf(spec.answer, structure, toEbnf);
    const answer = `${prefixRules(then, "answer_")}\nroot ::= "\\n"? "\\n"? answer_root`;
    return { type: "sequence", elements: [thinking, { type: "grammar", grammar: answer }] };
  }
  if (spec.kind === "tool_calls" && !spec.required && spec.text === undefined && structure.trigger !== null) {
    return amongText(spec, structure, structure.trigger, toEbnf);
  }
  return { type: "grammar", grammar: await ebnf(spec, structure, toEbnf) };
}

/** Free text up to the first call, then nothing but calls. */
async function amongText(
  spec: Calls,
  structure: CallStructure,
  trigger: string,
  toEbnf: SchemaToEbnf,
): Promise<ReplyFormat> {
  const grammar = await callsEbnf({ ...spec, required: true }, structure, toEbnf, trigger.length);
  return {
    type: "triggered_tags",
    triggers: [trigger],
    tags: [{ type: "tag", begin: trigger, content: { type: "grammar", grammar }, end: "" }],
    at_least_one: false,
    stop_after_first: true,
  };
}

async function ebnf(spec: ConstraintSpec, structure: CallStructure, toEbnf: SchemaToEbnf): Promise<string> {
  switch (spec.kind) {
    case "json_object":
      return toEbnf({ type: "object", additionalProperties: true }, "json");
    case "json_schema":
      return toEbnf(spec.schema, "json");
    case "grammar":
      return spec.grammar;
    case "after_thinking":
      return ebnf(spec.answer, structure, toEbnf);
    case "tool_calls":
      return callsEbnf(spec, structure, toEbnf);
  }
}

/** Calls of the tools, or the reply's text where calls are not required. `skipped`: leading characters to leave out. */
async function callsEbnf(
  { tools, parallel, required, text }: Calls,
  { opening, closing, separator, begin, end, arguments: form }: CallStructure,
  toEbnf: SchemaToEbnf,
  skipped = 0,
): Promise<string> {
  const rules: string[] = [];
  for (const [i, { name, parameters }] of tools.entries()) {
    rules.push(prefixRules(await toEbnf(objectSchema(parameters), form, `${name}.parameters`), `args${i}_`));
    const rest = `args${i}_root ${literal(end)}`;
    rules.push(`first${i} ::= ${literal((opening + begin(name)).slice(skipped))} ${rest}`);
    rules.push(`more${i} ::= ${literal(separator + begin(name))} ${rest}`);
  }
  const any = (rule: string) => `(${tools.map((_tool, i) => `${rule}${i}`).join(" | ")})`;
  rules.push(`calls ::= ${any("first")}${parallel ? ` ${any("more")}*` : ""} ${literal(closing)}`);
  if (required) return [...rules, "root ::= calls"].join("\n");
  const other = text === undefined ? `root ::= ${noCall}` : await ebnf(text, noStructure, toEbnf);
  return [...rules, prefixRules(other, "text_"), "root ::= calls | text_root"].join("\n");
}

/** A reply's text has no calls in it. */
const noStructure: CallStructure = {
  ...{ opening: "", closing: "", separator: "", end: "", arguments: "json", trigger: null },
  begin: () => "",
};

/** Arguments are an object, whatever a tool's schema leaves open. */
function objectSchema(parameters: unknown): unknown {
  const schema = (typeof parameters === "object" && parameters !== null ? parameters : {}) as Record<string, unknown>;
  return { ...schema, type: "object" };
}
