import type { ParsedToolCall } from "../schema/chat.ts";
import { jsonMemberText } from "./json_member.ts";
import type { ToolCallFormat } from "./tool_call_format.ts";

const open = "<tool_call>";
const close = "</tool_call>";

/**
 * Calls as Hermes and Qwen2.5/3 models write them: `<tool_call>{"name": ..., "arguments": ...}</tool_call>`, any number,
 * after optional text. One malformed call (bad JSON, no name, no arguments, no end) makes the whole answer text: what
 * the model meant is then unknown.
 */
export const hermes: ToolCallFormat = {
  name: "hermes",
  markup: [open, close, "<tool_response>", "</tool_response>"],
  matches: (source) => source.includes(open),
  parse(answer) {
    const asText = { content: answer, calls: [] };
    const [before, ...rest] = answer.split(open) as [string, ...string[]];
    const calls: ParsedToolCall[] = [];
    // The newline before a call is the format's own; other whitespace belongs to the text.
    const texts = [before.replace(/\n$/, "")];
    for (const piece of rest) {
      const end = piece.indexOf(close);
      const call = end < 0 ? null : parseCall(piece.slice(0, end));
      if (!call) return asText;
      calls.push(call);
      texts.push(piece.slice(end + close.length).trim());
    }
    return calls.length === 0 ? asText : { content: texts.filter((text) => text !== "").join("\n"), calls };
  },
  structure: {
    ...{ opening: "", closing: "", separator: "\n", arguments: "json", trigger: open },
    begin: (name) => `${open}\n{"name": ${JSON.stringify(name)}, "arguments": `,
    end: `}\n${close}`,
  },
  write: (calls) =>
    calls
      .map(({ name, arguments: args }) => `${open}\n{"name": ${JSON.stringify(name)}, "arguments": ${args}}\n${close}`)
      .join("\n"),
};

function parseCall(json: string): ParsedToolCall | null {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {
    return null;
  }
  const name = (value as { name?: unknown } | null)?.name;
  if (typeof name !== "string" || Array.isArray(value)) return null;
  const args = jsonMemberText(json, "arguments");
  return args === null ? null : { name, arguments: args };
}
