/** Runs of the lessons made by hand, with numbers that can be told by looking. */
import type { LessonCall, LessonGroup, LessonRollout, LessonRun } from "../../src/schema/lesson.ts";

/** A call: its prompt's ids, the reply's ids without the stop token (2), and what differs from the usual. */
export function call(
  id: string,
  promptIds: readonly number[],
  reply: readonly number[],
  other: Partial<LessonCall> = {},
): LessonCall {
  const replyIds = [...reply, 2];
  return {
    id,
    attempt: "0",
    key: id,
    promptIds,
    replyIds,
    logprobs: replyIds.map(() => -0.5),
    versions: replyIds.map(() => 0),
    breakReason: null,
    parent: null,
    prefixLength: 0,
    text: "",
    tokens: [...reply.map((n) => ` ${n}`), "<end>"],
    encodedIds: reply,
    stopped: true,
    ...other,
  };
}

/** A rollout with its calls and its reward. */
export function rollout(
  id: string,
  reward: number | null,
  calls: readonly LessonCall[],
  other: Partial<LessonRollout> = {},
): LessonRollout {
  const input = { question: "sum of 1 and 2", second: "double 4" };
  return { id, attempt: "0", status: "succeeded", reward, input, hidden: { answer: "3" }, calls, ...other };
}

/** A run of one group per update, with these lines of metrics. */
export function run(groups: readonly (readonly LessonRollout[])[], metrics: LessonRun["metrics"] = []): LessonRun {
  return {
    metrics: groups.map((_, i) => ({ step: i + 1, version: i + 1, ...metrics[i] })),
    groups: groups.map((rollouts, i): LessonGroup => ({ id: `g${i}`, update: i + 1, rollouts })),
  };
}

/**
 * A group of four: one success of two calls, a failure of one, two failures of three calls. Two sampled tokens and the
 * stop token each.
 */
export function unevenGroup(prefix: string): LessonRollout[] {
  const calls = (name: string, n: number): LessonCall[] =>
    Array.from({ length: n }, (_, i) => call(`${prefix}${name}${i}`, [10, 20 + i], [7, 8], { text: "answer 3" }));
  return [
    rollout(`${prefix}a`, 1, calls("a", 2)),
    rollout(`${prefix}b`, 0, calls("b", 1)),
    rollout(`${prefix}c`, 0, calls("c", 3)),
    rollout(`${prefix}d`, 0, calls("d", 3)),
  ];
}
