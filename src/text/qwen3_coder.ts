import type { ParsedToolCall, ToolDefinition } from "../schema/chat.ts";
import { jsonMembers } from "./json_member.ts";
import type { ToolCallFormat } from "./tool_call_format.ts";

const open = "<tool_call>";
const close = "</tool_call>";
const call = /^\s*<function=([^>\n]+)>\n?([\s\S]*?)\n?<\/function>\s*$/;
const parameter = /\s*<parameter=([^>\n]+)>\n?([\s\S]*?)\n?<\/parameter>\s*/y;

/**
 * Calls as Qwen3-Coder models write them: `<tool_call><function=NAME><parameter=KEY>value</parameter>…`. Values are text;
 * one becomes JSON of another type where the tool's schema says so, or where no tool is known and it reads as JSON. One
 * malformed call makes the whole answer text.
 */
export const qwen3Coder: ToolCallFormat = {
  name: "qwen3_coder",
  markup: [open, close, "<tool_response>", "</tool_response>"],
  matches: (source) => source.includes("<function=") && source.includes("<parameter="),
  parse(answer, tools) {
    const asText = { content: answer, calls: [] };
    const [before, ...rest] = answer.split(open) as [string, ...string[]];
    const calls: ParsedToolCall[] = [];
    const texts = [before.replace(/\n$/, "")];
    for (const piece of rest) {
      const end = piece.indexOf(close);
      const parsed = end < 0 ? null : parseCall(piece.slice(0, end), tools);
      if (!parsed) return asText;
      calls.push(parsed);
      texts.push(piece.slice(end + close.length).trim());
    }
    return calls.length === 0 ? asText : { content: texts.filter((text) => text !== "").join("\n"), calls };
  },
  structure: {
    ...{ opening: "", closing: "", separator: "\n", arguments: "xml", trigger: open },
    begin: (name) => `${open}\n<function=${name}>\n`,
    end: `\n</function>\n${close}`,
  },
  write: (calls) => calls.map(writeCall).join("\n"),
};

function parseCall(text: string, tools: readonly ToolDefinition[] | undefined): ParsedToolCall | null {
  const [, name, body] = call.exec(text) ?? [];
  if (name === undefined || body === undefined) return null;
  const properties = tools?.find((tool) => tool.function.name === name)?.function.parameters?.properties;
  const schemas = (properties ?? {}) as Record<string, ValueSchema | undefined>;
  const members: string[] = [];
  parameter.lastIndex = 0;
  while (parameter.lastIndex < body.length) {
    const [, key, value] = parameter.exec(body) ?? [];
    if (key === undefined || value === undefined) return null;
    members.push(`${JSON.stringify(key)}: ${jsonValue(value, tools && (schemas[key] ?? {}))}`);
  }
  return { name, arguments: `{${members.join(", ")}}` };
}

/** What of a parameter's JSON schema tells the type of its text. */
interface ValueSchema {
  type?: unknown;
  enum?: unknown;
}

/** `schema`: undefined when no tool is known; one that names no type takes text. */
function jsonValue(text: string, schema: ValueSchema | undefined): string {
  const trimmed = text.trim();
  const { type = "string", enum: allowed } = schema ?? {};
  const listed = Array.isArray(allowed)
    ? allowed.find((item) => item === text || JSON.stringify(item) === trimmed)
    : null;
  if (listed != null) return JSON.stringify(listed);
  const spoken = { True: "true", False: "false", None: "null" }[trimmed] ?? trimmed;
  const isText = schema !== undefined && (type === "string" || (Array.isArray(type) && type.includes("string")));
  return isText || !isJson(spoken) ? JSON.stringify(text) : spoken;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** Arguments that are no JSON object cannot be taken apart and stand as they are, where a reader finds them malformed. */
function writeCall({ name, arguments: args }: ParsedToolCall): string {
  const members = jsonMembers(args);
  const body = members?.map(({ key, value }) => {
    const text = value.startsWith('"') ? String(JSON.parse(value)) : value;
    return `<parameter=${key}>\n${text}\n</parameter>\n`;
  });
  return `${open}\n<function=${name}>\n${body?.join("") ?? `${args}\n`}</function>\n${close}`;
}
