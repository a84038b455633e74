import type { CallRecord, GroupRecord, RolloutRecord } from "../../src/rl/batch/batch_input.ts";

let nextCall = 0;

/** A call with ids of its own, log-probabilities -1/4, -2/4, … and version 3. */
export function call(promptIds: number[], replyIds: number[], more: Partial<CallRecord> = {}): CallRecord {
  const id = `c${nextCall++}`;
  const logprobs = replyIds.map((_, i) => -(i + 1) / 4);
  const versions = replyIds.map(() => 3);
  return { id, key: id, attempt: "0", promptIds, replyIds, logprobs, versions, ...more };
}

/** A rollout that succeeded in attempt 0. */
export function rollout(
  id: string,
  reward: number | null,
  calls: CallRecord[],
  more: Partial<RolloutRecord> = {},
): RolloutRecord {
  return { id, attempt: "0", status: "succeeded", reward, calls, ...more };
}

/** A group named after its task. */
export function group(id: string, rollouts: RolloutRecord[], more: Partial<GroupRecord> = {}): GroupRecord {
  return { id, task: id, rollouts, ...more };
}

/** A success and a failure, the failure much longer. */
export const pair = (): GroupRecord =>
  group("t", [rollout("bad", 0, [call([1], [2, 3, 4, 5])]), rollout("good", 1, [call([1], [6])])]);

/** What `run` throws. */
export const thrown = (run: () => unknown): { code: string; message: string } => {
  try {
    run();
  } catch (error) {
    return error as { code: string; message: string };
  }
  throw new Error("nothing was thrown");
};
