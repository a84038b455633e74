import type { ScriptedReply } from "../../schema/script.ts";

/**
 * An agent program that people have installed, and what it takes to point it at a gateway without a screen: all data.
 * In texts of `args`, `env`, `files` and `trial` these are replaced: {prompt}, {workspace}, {home}, {openai_url} (ends in
 * /v1), {native_url} (base of the Anthropic and Gemini dialects), {key}, {model}. Other braces stay.
 */
export interface Harness {
  /** As the command line names it. */
  readonly name: string;
  /** Its npm package, and the program it installs. */
  readonly package: string;
  readonly program: string;
  /** Arguments for one task without a screen. */
  readonly args: readonly string[];
  /** Variables it is given over PATH and HOME: where its model is, telemetry and updates off. */
  readonly env: Readonly<Record<string, string>>;
  /** Files it reads, by path below its home. */
  readonly files: Readonly<Record<string, string>>;
  /** What a scripted policy makes it do: two tool calls with its own tools, then an answer. */
  readonly trial: readonly ScriptedReply[];
  /** Calls besides those of the task that it makes by itself, each a conversation of its own: a title, say. */
  readonly sideCalls: number;
}

type Arguments = Readonly<Record<string, unknown>>;

/** The trial's first turn: the harness's tool for shell commands. */
export function trialCommand(tool: string, args: Arguments): ScriptedReply {
  return { text: "I will run it.", calls: [{ name: tool, arguments: JSON.stringify(args) }] };
}

/** The trial's second turn, after some thinking: the tool that reads a file. */
export function trialReading(tool: string, args: Arguments): ScriptedReply {
  return {
    reasoning: "The file is next.",
    text: "Now the file.",
    calls: [{ name: tool, arguments: JSON.stringify(args) }],
  };
}

/** What every trial says at its end. */
export const trialAnswer: ScriptedReply = { text: "Done: the command printed hi." };

/** The task of a trial, for the harness; the scripted policy does not read it. */
export const trialPrompt = "Run the command `echo hi`, read README.md, then say that you are done.";

/** What README.md in the trial's folder holds. */
export const trialReadme = "A folder for a trial.\n";
