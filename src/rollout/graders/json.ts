import { type Grader, type JsonOptions, jsonOptionsSchema } from "../../schema/grader.ts";
import { truthOf } from "./truth.ts";

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** True when `actual` has everything that `expected` has; lists item by item, and as long. */
function covers(actual: unknown, expected: unknown, exactKeys: boolean): boolean {
  if (Array.isArray(expected)) {
    if (!Array.isArray(actual) || actual.length !== expected.length) return false;
    return expected.every((item, i) => covers(actual[i], item, exactKeys));
  }
  if (!isObject(expected)) return actual === expected;
  if (!isObject(actual)) return false;
  const keys = Object.keys(expected);
  if (exactKeys && Object.keys(actual).length !== keys.length) return false;
  return keys.every((key) => Object.hasOwn(actual, key) && covers(actual[key], expected[key], exactKeys));
}

/** What stands in a message's last fenced block, line by line: an expression for it would take the cube of its length. */
function lastBlock(message: string): string[] {
  let last: string[] = [];
  let open: string[] | null = null;
  for (const line of message.split("\n")) {
    if (open === null) {
      if (/```(?:json)?\s*$/.test(line)) open = [];
    } else if (line.trimStart().startsWith("```")) {
      last = [open.join("\n")];
      open = null;
    } else open.push(line);
  }
  return last;
}

/** The JSON a message is, or that stands in its last fenced block; undefined when there is none. */
function jsonIn(message: string): unknown {
  for (const text of [message, ...lastBlock(message)]) {
    try {
      return JSON.parse(text);
    } catch {
      // Not this one.
    }
  }
  return undefined;
}

/** 1 when the final message is the expected JSON, or covers it; reasons: match, mismatch, no_json. */
export const json: Grader<JsonOptions> = {
  name: "json",
  optionsSchema: jsonOptionsSchema,
  grade({ task, finalMessage }, { field, match }) {
    const expected = truthOf("json", task, field);
    const actual = finalMessage === null ? undefined : jsonIn(finalMessage);
    if (actual === undefined) return { value: 0, reason: "no_json" };
    const equal = covers(actual, expected, match === "equal");
    return equal ? { value: 1, reason: "match" } : { value: 0, reason: "mismatch" };
  },
};
