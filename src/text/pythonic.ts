import type { ParsedToolCall } from "../schema/chat.ts";
import { jsonMembers } from "./json_member.ts";
import { llamaJson } from "./llama_json.ts";
import { PythonReader, pythonLiteral } from "./python_literal.ts";
import type { ToolCallFormat } from "./tool_call_format.ts";

/**
 * Calls as Llama 3.2 and 4 write them when asked to: an answer that is nothing but a Python list of calls with keyword
 * arguments, `[get_weather(city="Oslo", days=2), now()]`. Llama's JSON is read too, and is what grammars ask for; anything
 * else is text.
 */
export const pythonic: ToolCallFormat = {
  name: "pythonic",
  markup: ["<|python_start|>", "<|python_end|>"],
  matches: (source) => source.includes("func_name1("),
  parse(answer) {
    const text = answer.replaceAll("<|python_start|>", "").replaceAll("<|python_end|>", "").trim();
    const calls = parseCalls(text);
    return calls === null ? llamaJson.parse(answer) : { content: "", calls };
  },
  structure: llamaJson.structure,
  write: (calls) => `[${calls.map(writeCall).join(", ")}]`,
};

function parseCalls(text: string): ParsedToolCall[] | null {
  const reader = new PythonReader(text);
  const calls: ParsedToolCall[] = [];
  if (!reader.take("[")) return null;
  do {
    const name = reader.name();
    if (name === null || !reader.take("(")) return null;
    const members: string[] = [];
    while (!reader.take(")")) {
      if (members.length > 0 && !reader.take(",")) return null;
      const key = reader.name();
      const value = key !== null && reader.take("=") ? reader.json() : null;
      if (value === null) return null;
      members.push(`${JSON.stringify(key)}: ${value}`);
    }
    calls.push({ name, arguments: `{${members.join(", ")}}` });
  } while (reader.take(","));
  return reader.take("]") && reader.atEnd ? calls : null;
}

/** Arguments that are no JSON object stand as they are, where a reader finds them malformed. */
function writeCall({ name, arguments: args }: ParsedToolCall): string {
  const members = jsonMembers(args)?.map(({ key, value }) => `${key}=${pythonLiteral(JSON.parse(value))}`);
  return `${name}(${members?.join(", ") ?? args})`;
}
