/** OpenAI Responses: tools, which of them have to be called, and the form of the text. */
import { type ToolDefinition, toolDefinitionSchema } from "../../src/schema/chat.ts";
import type { JsonObject } from "./dialect.ts";
import {
  autoChoice,
  type OutputFormat,
  type ReplyForm,
  requireOffered,
  schemaFormat,
  strictness,
  type ToolChoice,
} from "./reply_form.ts";
import { invalid } from "./request_fields.ts";

function typeOf(tool: unknown): unknown {
  return (tool as { type?: unknown } | null)?.type;
}

function isNamespace(tool: unknown): tool is JsonObject & { tools: unknown[] } {
  return typeOf(tool) === "namespace" && Array.isArray((tool as JsonObject).tools);
}

/** True for functions, and for groups of them; other tools are OpenAI's own and known to its models alone. */
export function isServedTool(tool: unknown): boolean {
  return typeOf(tool) === "function" || isNamespace(tool);
}

/** A function tool as chat completions write it. */
function toolDefinition(tool: JsonObject, path: string): ToolDefinition {
  const { name, description, parameters } = tool;
  const result = toolDefinitionSchema.safeParse({ type: "function", function: { name, description, parameters } });
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const place = [path, ...(issue?.path.slice(1) ?? [])].join(".");
  throw invalid(place, `Invalid '${place}': ${issue?.message ?? "not a tool"}.`);
}

/** A tool's functions, those of a group one by one: chat templates know no groups. */
function definitions(tool: unknown, path: string): ToolDefinition[] {
  if (isNamespace(tool)) return tool.tools.flatMap((inner, at) => definitions(inner, `${path}.tools.${at}`));
  return typeOf(tool) === "function" ? [toolDefinition(tool as JsonObject, path)] : [];
}

/** @throws ApiError 400 */
export function readTools({ tools, tool_choice: choice }: JsonObject): ToolDefinition[] | null {
  if (tools === undefined || tools === null || choice === "none") return null;
  if (!Array.isArray(tools)) throw invalid("tools", "Invalid 'tools': expected a list of tools.");
  const read = tools.flatMap((tool: unknown, at) => definitions(tool, `tools.${at}`));
  return read.length === 0 ? null : read;
}

/** The group that a function was offered in, which its calls name; null for one that stands alone. */
export function namespaceOf(name: string, { tools }: JsonObject): string | null {
  const holds = (tool: unknown) => (tool as { name?: unknown } | null)?.name === name;
  const list: unknown[] = Array.isArray(tools) ? tools : [];
  if (list.some((tool) => typeOf(tool) === "function" && holds(tool))) return null;
  const group = list.filter(isNamespace).find((tool) => tool.tools.some(holds));
  return typeof group?.name === "string" ? group.name : null;
}

interface Forced {
  type?: unknown;
  name?: unknown;
  mode?: unknown;
  tools?: unknown;
}

/** @throws ApiError 400 */
function readChoice({ tool_choice: choice }: JsonObject): ToolChoice {
  if (choice === "none" || choice === "required") return { mode: choice, names: null };
  if (choice === undefined || choice === null || choice === "auto") return autoChoice;
  const { type, name, mode, tools } = (typeof choice === "object" ? choice : {}) as Forced;
  if (type === "function" && typeof name === "string") return { mode: "required", names: [name] };
  if (type === "allowed_tools" && Array.isArray(tools)) {
    const names = tools.flatMap((tool: { name?: unknown } | null) =>
      typeof tool?.name === "string" ? [tool.name] : [],
    );
    return { mode: mode === "required" ? "required" : "auto", names };
  }
  // A call of one of OpenAI's own tools cannot be forced: the model has none of them.
  if (typeof type === "string") return autoChoice;
  throw invalid("tool_choice", `Invalid 'tool_choice': expected "none", "auto", "required" or a function to call.`);
}

function readFormat({ text }: JsonObject): OutputFormat {
  const format = (text as { format?: JsonObject | null } | null | undefined)?.format;
  if (format?.type === "json_schema") return schemaFormat(format.schema, "text.format.schema");
  return format?.type === "json_object" ? { kind: "json_object" } : { kind: "text" };
}

/** Functions by name, those of a group one by one, with what they say of their schemas. */
function strictPairs(tools: unknown): [name: unknown, strict: unknown][] {
  const list: unknown[] = Array.isArray(tools) ? tools : [];
  return list.flatMap((tool) => {
    if (isNamespace(tool)) return strictPairs(tool.tools);
    return typeOf(tool) === "function" ? [[(tool as JsonObject).name, (tool as JsonObject).strict]] : [];
  });
}

/** What the reply has to be. @throws ApiError 400 */
export function readForm(body: JsonObject, tools: readonly ToolDefinition[] | null): ReplyForm {
  const choice = readChoice(body);
  const format = readFormat(body);
  const parallelCalls = body.parallel_tool_calls !== false;
  requireOffered(choice, tools, "tool_choice");
  const isForced = !["none", "auto", null, undefined].includes(body.tool_choice as string | null | undefined);
  const { strict, fields: strictFields } = strictness(strictPairs(body.tools));
  const fields = {
    ...strictFields,
    ...(format.kind === "text" ? {} : { text: body.text }),
    ...(isForced ? { tool_choice: body.tool_choice } : {}),
    ...(parallelCalls ? {} : { parallel_tool_calls: false }),
  };
  return { choice, format, parallelCalls, strict, fields };
}

/** What is left out of a list, by type: "tools.web_search". */
export function leftOut(name: string, list: unknown, typeOf: (one: unknown) => string | null): JsonObject {
  const left: Record<string, unknown[]> = {};
  for (const one of Array.isArray(list) ? list : []) {
    const type = typeOf(one);
    if (type === null) continue;
    const key = `${name}.${type}`;
    left[key] = [...(left[key] ?? []), one];
  }
  return left;
}
