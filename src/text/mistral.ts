import type { ParsedToolCall } from "../schema/chat.ts";
import { jsonItems, jsonMemberText, jsonPrefixEnd } from "./json_member.ts";
import type { ToolCallFormat } from "./tool_call_format.ts";

const open = "[TOOL_CALLS]";
const argsMark = "[ARGS]";
const named = /^\s*([^[\s{]+)(?:\[CALL_ID\][A-Za-z0-9]+)?(?:\[ARGS\])?\s*(?=\{)/;

/**
 * Calls as Mistral's models write them: `[TOOL_CALLS][{"name": ..., "arguments": {...}}, ...]` to the answer's end, or
 * in the later form `[TOOL_CALLS]NAME[ARGS]{...}` for each call. A malformed list makes the whole answer text.
 */
export const mistral: ToolCallFormat = {
  name: "mistral",
  markup: [open, argsMark, "[CALL_ID]", "[AVAILABLE_TOOLS]", "[/AVAILABLE_TOOLS]", "[TOOL_RESULTS]", "[/TOOL_RESULTS]"],
  matches: (source) => source.includes(open),
  parse(answer) {
    const asText = { content: answer, calls: [] };
    const at = answer.indexOf(open);
    if (at < 0) return asText;
    const rest = answer.slice(at + open.length);
    const calls = rest.trimStart().startsWith("[") ? parseList(rest.trim()) : parseNamed(rest);
    return calls === null ? asText : { content: answer.slice(0, at).trimEnd(), calls };
  },
  structure: {
    ...{ opening: `${open}[`, closing: "]", separator: ", ", arguments: "json", trigger: open },
    begin: (name) => `{"name": ${JSON.stringify(name)}, "arguments": `,
    end: "}",
  },
  write: (calls) =>
    `${open}[${calls.map(({ name, arguments: args }) => `{"name": ${JSON.stringify(name)}, "arguments": ${args}}`).join(", ")}]`,
};

function parseList(text: string): ParsedToolCall[] | null {
  if (jsonPrefixEnd(text) !== text.length) return null;
  const calls = jsonItems(text).map((json) => {
    const name: unknown = json.startsWith("{") ? JSON.parse(jsonMemberText(json, "name") ?? "null") : null;
    const args = typeof name === "string" ? jsonMemberText(json, "arguments") : null;
    return typeof name === "string" && args !== null ? { name, arguments: args } : null;
  });
  return calls.length > 0 && calls.every((call) => call !== null) ? calls : null;
}

function parseNamed(text: string): ParsedToolCall[] | null {
  const calls: ParsedToolCall[] = [];
  for (const piece of text.split(open)) {
    const [head, name] = named.exec(piece) ?? [];
    if (head === undefined || name === undefined) return null;
    const args = piece.slice(head.length).trim();
    if (jsonPrefixEnd(args) !== args.length) return null;
    calls.push({ name, arguments: args });
  }
  return calls;
}
