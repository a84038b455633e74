import type { ParsedToolCall } from "../schema/chat.ts";
import type { ParsedCalls, ToolCallFormat } from "./tool_call_format.ts";

const [open, close] = ["<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>"];
const [callOpen, callClose, separator] = ["<｜tool▁call▁begin｜>", "<｜tool▁call▁end｜>", "<｜tool▁sep｜>"];
const markup = [open, close, callOpen, callClose, separator, "<｜tool▁output▁begin｜>", "<｜tool▁output▁end｜>"];
const outputs = ["<｜tool▁outputs▁begin｜>", "<｜tool▁outputs▁end｜>"];
const fenced = /^(\w+)<｜tool▁sep｜>([^\n]+)\n```json\n([\s\S]*?)\n```$/;

/** Calls as DeepSeek V3 and R1 write them: `function<｜tool▁sep｜>NAME`, the arguments fenced as JSON below it. */
export const deepseekV3: ToolCallFormat = {
  name: "deepseek_v3",
  markup: [...markup, ...outputs],
  matches: (source) => source.includes(separator) && source.includes("```json"),
  parse: (answer) =>
    parseCalls(answer, (text) => {
      const [, , name, args] = fenced.exec(text.trim()) ?? [];
      return name === undefined || args === undefined ? null : { name: name.trim(), arguments: args };
    }),
  structure: {
    ...{ opening: open, closing: close, separator: "\n", arguments: "json", trigger: open },
    begin: (name) => `${callOpen}function${separator}${name}\n\`\`\`json\n`,
    end: `\n\`\`\`${callClose}`,
  },
  write: (calls) =>
    writeCalls(
      calls.map((call) => `function${separator}${call.name}\n\`\`\`json\n${call.arguments}\n\`\`\``),
      "\n",
    ),
};

/** Calls as DeepSeek V3.1 writes them: `NAME<｜tool▁sep｜>ARGUMENTS`. */
export const deepseekV31: ToolCallFormat = {
  name: "deepseek_v31",
  markup,
  matches: (source) => source.includes(separator),
  parse: (answer) =>
    parseCalls(answer, (text) => {
      const at = text.indexOf(separator);
      const name = text.slice(0, Math.max(at, 0)).trim();
      return name === "" ? null : { name, arguments: text.slice(at + separator.length).trim() };
    }),
  structure: {
    ...{ opening: open, closing: close, separator: "", arguments: "json", trigger: open },
    begin: (name) => `${callOpen}${name}${separator}`,
    end: callClose,
  },
  write: (calls) =>
    writeCalls(
      calls.map((call) => `${call.name}${separator}${call.arguments}`),
      "",
    ),
};

/** Calls between their markers; an answer with a malformed one, or with text after the first, is text. */
function parseCalls(answer: string, parse: (text: string) => ParsedToolCall | null): ParsedCalls {
  const asText = { content: answer, calls: [] };
  const at = answer.indexOf(open);
  if (at < 0) return asText;
  const body = answer.slice(at + open.length);
  const end = body.indexOf(close);
  const [before, ...pieces] = (end < 0 ? body : body.slice(0, end)).split(callOpen);
  const calls: ParsedToolCall[] = [];
  for (const piece of pieces) {
    const stop = piece.indexOf(callClose);
    const call = stop < 0 || piece.slice(stop + callClose.length).trim() !== "" ? null : parse(piece.slice(0, stop));
    if (!call) return asText;
    calls.push(call);
  }
  const after = end < 0 ? "" : body.slice(end + close.length);
  if (calls.length === 0 || before?.trim() !== "" || after.trim() !== "") return asText;
  return { content: answer.slice(0, at), calls };
}

function writeCalls(calls: readonly string[], between: string): string {
  return `${open}${calls.map((call) => `${callOpen}${call}${callClose}`).join(between)}${close}`;
}
