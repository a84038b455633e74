import { z } from "zod";

/** Answers of Leyden's gateway that Agent Lightning's has not. Keys this file does not name are ignored. */

/** What happened after a cursor up to the next. */
export interface ChangesAnswer {
  cursor: number;
  changes: readonly { rollout_id: string; kind: "created" | "patched" | "deleted" | "activity" }[];
}

/** Calls of a rollout that came to nothing. */
export interface FailuresAnswer {
  failures: readonly { attempt: string; http_status: number; timestamp: number }[];
}

/** The key of one attempt. */
export interface KeyAnswer {
  key: string;
}

/** Checks the answer to GET /api/changes. */
export const changesAnswerSchema: z.ZodType<ChangesAnswer> = z.looseObject({
  cursor: z.int(),
  changes: z.array(
    z.looseObject({ rollout_id: z.string(), kind: z.enum(["created", "patched", "deleted", "activity"]) }),
  ),
});

/** Checks the answer to GET /api/rollouts/{id}/calls. */
export const failuresAnswerSchema: z.ZodType<FailuresAnswer> = z.looseObject({
  failures: z.array(z.looseObject({ attempt: z.string(), http_status: z.number(), timestamp: z.number() })),
});

/** Checks the answer to POST /api/rollouts/{id}/attempt/{attempt}/key. */
export const keyAnswerSchema: z.ZodType<KeyAnswer> = z.looseObject({ key: z.string() });
