import type { ParsedToolCall, ToolDefinition } from "../schema/chat.ts";

/** A reply's answer part taken apart. */
export interface ParsedCalls {
  /** What is left besides the calls. */
  content: string;
  calls: ParsedToolCall[];
}

/** The fixed text around the calls of a reply, for grammars: `opening call (separator call)* closing`. */
export interface CallStructure {
  opening: string;
  closing: string;
  separator: string;
  /** What stands before and after a call's arguments. */
  begin(name: string): string;
  end: string;
  /** Arguments as a JSON object, or as Qwen3-Coder's parameters. */
  arguments: "json" | "xml";
  /** Text that begins calls wherever it stands in a reply; null where calls are the whole reply. */
  trigger: string | null;
}

/** How a family of models writes tool calls; one file each. */
export interface ToolCallFormat {
  name: string;
  /** Its markers: text that counts as the template's own wherever the template wrote it. */
  markup: readonly string[];
  /** True when a chat template's source shows that its model writes calls this way. */
  matches(templateSource: string): boolean;
  /**
   * The calls in an answer without thinking and stop token; no calls when any of them is malformed. `tools`: the
   * request's, whose schemas tell the types of arguments that a format writes as plain text.
   */
  parse(answer: string, tools?: readonly ToolDefinition[]): ParsedCalls;
  /** What a reply of calls consists of. */
  structure: CallStructure;
  /** The calls, at least one, as the model writes them; argument text stands in it unchanged. */
  write(calls: readonly ParsedToolCall[]): string;
}
