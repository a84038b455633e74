import { z } from "zod";
import type { Clock } from "../core/clock.ts";
import type { Files } from "./files.ts";
import type { ProcessHost } from "./process_host.ts";
import type { TaskRow } from "./task.ts";

/** One call of an attempt as a grader sees it. */
export interface TranscriptCall {
  /** Body that was sent to the model, messages and tools included. */
  request: Record<string, unknown>;
  /** Text of the reply; null when it was only tool calls, or failed. */
  text: string | null;
  toolCalls: readonly { name: string; arguments: string }[];
  ok: boolean;
  httpStatus: number;
}

/** Everything a grader may judge by. The agent has ended. */
export interface GradeInput {
  /** With the fields hidden from the agent. */
  task: TaskRow;
  /** Text of the agent's last reply; null when it was only tool calls or there was none. */
  finalMessage: string | null;
  calls: readonly TranscriptCall[];
  exitCode: number | null;
  /** Folder the agent worked in, when it had one of its own. */
  workspace: string | null;
}

/** What a reward expression is computed over. */
export interface ExpressionFacts {
  /** Text of the last reply; "" when there was none. */
  message: string;
  /** hidden.answer. */
  answer: unknown;
  input: Record<string, unknown>;
  hidden: Record<string, unknown>;
  /** Texts of all calls. */
  replies: readonly string[];
  calls: number;
}

/** What a text of the configuration, which may say anything, is to compute over what an agent wrote. */
export type BoundedQuestion =
  | { kind: "expression"; reward: string; facts: ExpressionFacts }
  /** The first group of the last match, or the whole of it; null without one. */
  | { kind: "pattern"; pattern: string; text: string };

/** The value, or why there is none: a sentence that begins with "it". */
export interface BoundedAnswer {
  value: number | string | null;
  fault: string | null;
}

/** Computes what a person wrote, with an end: in a place of its own, where it holds nobody up. */
export interface BoundedWork {
  ask(question: BoundedQuestion): Promise<BoundedAnswer>;
}

/** What graders work with. */
export interface GradeTools {
  files: Files;
  processes: ProcessHost;
  clock: Clock;
  bounded: BoundedWork;
  /** Folder for the grader's logs. */
  logFolder: string;
}

/** A reward and why, in one word or two for counting. */
export interface Grade {
  value: number;
  reason: string;
  details?: Record<string, unknown>;
}

/** Judges rollouts. `options` are JSON from the configuration, checked once. */
export interface Grader<Options> {
  name: string;
  optionsSchema: z.ZodType<Options>;
  /** @throws GraderError when the task lacks what is needed */
  grade(input: GradeInput, options: Options, tools: GradeTools): Grade | Promise<Grade>;
}

/** Options of "exact": the final message is the truth, text for text. */
export interface ExactOptions {
  /** Field of the task's hidden part that holds the truth. */
  field: string;
  /** Regular expression; the first group of its last match is the answer. Default: the whole message. */
  pattern?: string;
  ignoreCase: boolean;
}

/** Options of "numeric": the final message holds exactly one number, and it is the truth. */
export interface NumericOptions {
  field: string;
  /** Largest difference that counts as equal; null compares the digits as text. */
  tolerance: number | null;
}

/** Options of "json": the final message is JSON, alone or in its last fenced block. */
export interface JsonOptions {
  field: string;
  /** subset: objects may have further keys. */
  match: "equal" | "subset";
}

/** Options of "expression": the reward is the value of an expression. */
export interface ExpressionOptions {
  /** In the Common Expression Language, for example 'numbers(message) == [answer] ? 1.0 : 0.0'. */
  reward: string;
}

/** Options of "unit_tests": a command passes in a fresh copy of the agent's workspace. */
export interface UnitTestsOptions {
  /** Program and arguments; exit code 0 means passed. */
  command: readonly string[];
  timeoutSeconds: number;
  /** Field of the hidden part that maps paths of test files to their texts, restored before the run. */
  field: string;
  /** Folder the copy starts from instead of the agent's workspace; of that, then, only `submit` is taken. */
  pristine?: string;
  /** Paths of the agent's files. */
  submit?: readonly string[];
}

const field = z.string().min(1);

export const exactOptionsSchema: z.ZodType<ExactOptions> = z.strictObject({
  field: field.default("answer"),
  pattern: z.string().optional(),
  ignoreCase: z.boolean().default(false),
});

export const numericOptionsSchema: z.ZodType<NumericOptions> = z.strictObject({
  field: field.default("answer"),
  tolerance: z.number().min(0).nullable().default(null),
});

export const jsonOptionsSchema: z.ZodType<JsonOptions> = z.strictObject({
  field: field.default("answer"),
  match: z.enum(["equal", "subset"]).default("equal"),
});

export const expressionOptionsSchema: z.ZodType<ExpressionOptions> = z.strictObject({
  reward: z.string().min(1).max(4096),
});

export const unitTestsOptionsSchema: z.ZodType<UnitTestsOptions> = z
  .strictObject({
    command: z.array(z.string()).min(1),
    timeoutSeconds: z.number().positive().default(600),
    field: field.default("tests"),
    pristine: z.string().optional(),
    submit: z.array(z.string().min(1)).optional(),
  })
  .refine(({ pristine, submit }) => (pristine === undefined) === (submit === undefined), {
    message: "pristine and submit go together",
  });

/** Paths of files to their texts. */
export const fileTextsSchema: z.ZodType<Record<string, string>> = z.record(z.string().min(1), z.string());
