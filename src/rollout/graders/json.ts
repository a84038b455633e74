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

/** The JSON a message is, or that stands in its last fenced block; undefined when there is none. */
function jsonIn(message: string): unknown {
  const blocks = [...message.matchAll(/```(?:json)?\s*\n(.*?)\n\s*```/gs)].map((match) => match[1] as string);
  for (const text of [message, ...blocks.reverse().slice(0, 1)]) {
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
