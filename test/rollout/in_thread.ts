import { answerBounded } from "../../src/rollout/graders/bounded_server.ts";
import type { BoundedWork } from "../../src/schema/grader.ts";

/** What a worker computes, in this thread and without its bound. */
export const inThread: BoundedWork = { ask: async (question) => answerBounded(question) };
