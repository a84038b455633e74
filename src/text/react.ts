import type { ParsedToolCall } from "../schema/chat.ts";
import { jsonPrefixEnd } from "./json_member.ts";
import type { ToolCallFormat } from "./tool_call_format.ts";

const action = /(?:^|\n)[ \t]*Action:[ \t]*([^\n]+?)[ \t]*\n[ \t]*Action Input:[ \t]*/g;

/**
 * Calls in plain text, for models whose template knows no tools: `Action: NAME` and below it `Action Input:` with a JSON
 * object. What stands before the first is the answer's text; an input that is no JSON object makes the whole answer text.
 */
export const react: ToolCallFormat = {
  name: "react",
  markup: [],
  matches: (source) => source.includes("Action Input:"),
  parse(answer) {
    const asText = { content: answer, calls: [] };
    const calls: ParsedToolCall[] = [];
    const heads = [...answer.matchAll(action)];
    for (const [i, head] of heads.entries()) {
      const text = answer.slice(head.index + head[0].length, heads[i + 1]?.index).trim();
      if (!text.startsWith("{") || jsonPrefixEnd(text) !== text.length) return asText;
      calls.push({ name: head[1] as string, arguments: text });
    }
    if (calls.length === 0) return asText;
    return { content: answer.slice(0, heads[0]?.index), calls };
  },
  structure: {
    ...{ opening: "", closing: "", separator: "\n", arguments: "json", trigger: "Action:" },
    begin: (name) => `Action: ${name}\nAction Input: `,
    end: "",
  },
  write: (calls) => calls.map(({ name, arguments: args }) => `\nAction: ${name}\nAction Input: ${args}`).join(""),
};
