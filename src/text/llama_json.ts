import type { ParsedToolCall } from "../schema/chat.ts";
import { jsonMemberText, jsonPrefixEnd } from "./json_member.ts";
import type { ToolCallFormat } from "./tool_call_format.ts";

const pythonTag = "<|python_tag|>";

/**
 * Calls as Llama 3.1 to 3.3 write them: an answer that is nothing but `{"name": ..., "parameters": {...}}`, several of
 * them parted by ";", after an optional `<|python_tag|>`. Anything else is text.
 */
export const llamaJson: ToolCallFormat = {
  name: "llama3_json",
  markup: [pythonTag],
  matches: (source) => source.includes("<|start_header_id|>") && source.includes('"parameters": '),
  parse(answer) {
    const asText = { content: answer, calls: [] };
    let rest = answer.trim();
    if (rest.startsWith(pythonTag)) rest = rest.slice(pythonTag.length).trimStart();
    const calls: ParsedToolCall[] = [];
    while (rest !== "") {
      const end = rest.startsWith("{") ? jsonPrefixEnd(rest) : null;
      const call = end === null ? null : parseCall(rest.slice(0, end));
      if (!call) return asText;
      calls.push(call);
      rest = rest.slice(end ?? 0).replace(/^\s*;?\s*/, "");
    }
    return calls.length === 0 ? asText : { content: "", calls };
  },
  structure: {
    ...{ opening: "", closing: "", separator: "; ", arguments: "json", trigger: null },
    begin: (name) => `{"name": ${JSON.stringify(name)}, "parameters": `,
    end: "}",
  },
  write: (calls) =>
    calls.map(({ name, arguments: args }) => `{"name": ${JSON.stringify(name)}, "parameters": ${args}}`).join("; "),
};

function parseCall(json: string): ParsedToolCall | null {
  const name: unknown = JSON.parse(jsonMemberText(json, "name") ?? "null");
  const args = jsonMemberText(json, "parameters") ?? jsonMemberText(json, "arguments");
  return typeof name === "string" && args?.startsWith("{") ? { name, arguments: args } : null;
}
