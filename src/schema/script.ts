import { z } from "zod";
import type { ChatRequest } from "./chat.ts";

/** A tool call of a scripted reply. */
export interface ScriptedCall {
  /** As the harness gets it; one is made up where it is left out. */
  id?: string;
  name: string;
  /** The argument text exactly as it shall be sampled, JSON or not; "{}" where it is left out. */
  arguments?: string;
}

/** What the model is made to say in one reply, instead of what it would draw: one line of a script. */
export interface ScriptedReply {
  text?: string;
  reasoning?: string;
  calls?: readonly ScriptedCall[];
  /** Answer the call with this HTTP status instead; the model says nothing. */
  error?: number;
  /** Wait before answering, in milliseconds. */
  delayMs?: number;
  /**
   * Text that a request's messages or tools must contain: the reply then waits for such requests alone, in order among
   * those with the same text. Requests that no such text fits take the replies without one.
   */
  when?: string;
}

/** Where a policy that does not draw its replies has them from. */
export interface ReplySource {
  /** The next reply of a rollout to a request; calls outside rollouts have the id "". */
  next(rolloutId: string, request: ChatRequest): ScriptedReply;
}

/** Checks one line of a script. */
export const scriptedReplySchema: z.ZodType<ScriptedReply> = z.strictObject({
  text: z.string().optional(),
  reasoning: z.string().optional(),
  calls: z
    .array(
      z.strictObject({ id: z.string().min(1).optional(), name: z.string().min(1), arguments: z.string().optional() }),
    )
    .optional(),
  error: z.int().min(400).max(599).optional(),
  delayMs: z.number().min(0).max(3_600_000).optional(),
  when: z.string().min(1).optional(),
});
