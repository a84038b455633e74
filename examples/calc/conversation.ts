/** Traces as the text of a conversation: byte for byte what chat_template.jinja renders for the agent's requests. */
import type { Trace } from "./traces.ts";

/** A piece of a conversation; the policy sampled it, or was given it. */
export interface Segment {
  text: string;
  sampled: boolean;
}

/** Token ids of a whole conversation; mask is 1 where the policy sampled the token. Both have one length. */
export interface SftRow {
  ids: Int32Array;
  mask: Uint8Array;
}

/** The system text and the tool as the agent sends them. */
export const systemText = "Answer with the calculator.";
export const tool = {
  type: "function",
  function: {
    name: "calculator",
    description: "Evaluate arithmetic.",
    parameters: { type: "object", properties: { expression: { type: "string" } }, required: ["expression"] },
  },
} as const;

const toolJson =
  '{"type": "function", "function": {"name": "calculator", "description": "Evaluate arithmetic.", ' +
  '"parameters": {"type": "object", "properties": {"expression": {"type": "string"}}, "required": ["expression"]}}}';

/** What every conversation begins with: one prefix, computed once per policy version. */
export const prefixText: string = `<|im_start|>system\n${systemText}\n\n# Tools\n\n<tools>\n${toolJson}\n</tools><|im_end|>\n`;

const replyStart = "<|im_start|>assistant\n";
const replyEnd = "<|im_end|>";

/** The question, up to the place where the policy goes on. */
export function questionText(question: string): string {
  return `<|im_start|>user\n${question}<|im_end|>\n${replyStart}`;
}

/** The tool's answer after a reply, up to the place where the policy goes on. */
export function resultText(result: string): string {
  return `\n<|im_start|>user\n<tool_response>\n${result}\n</tool_response><|im_end|>\n${replyStart}`;
}

/** The trace as given and sampled pieces, in order; together they are the conversation's text. */
export function segments(trace: Trace): Segment[] {
  const out: Segment[] = [{ text: prefixText + questionText(trace.problem.question), sampled: false }];
  for (const { text, result } of trace.turns) {
    out.push({ text: text + replyEnd, sampled: true });
    if (result !== null) out.push({ text: resultText(result), sampled: false });
  }
  return out;
}

/** The trace as token ids for supervised training: loss on sampled tokens only. */
export function sftRow(trace: Trace, encode: (text: string) => ArrayLike<number>): SftRow {
  const ids: number[] = [];
  const mask: number[] = [];
  for (const segment of segments(trace)) {
    const piece = Array.from(encode(segment.text));
    ids.push(...piece);
    mask.push(...piece.map(() => Number(segment.sampled)));
  }
  return { ids: Int32Array.from(ids), mask: Uint8Array.from(mask) };
}
