/** What clients of model servers may ask for and a gateway to one language model does not have: a clear refusal each. */
import type { Gateway } from "../context.ts";
import { ApiError } from "../http/errors.ts";
import { attemptPrefix, type Routes } from "../http/routes.ts";
import { chatCompletions } from "./chat_completions.ts";
import { errorResponse } from "./model_routes.ts";

/** Paths below the version, and what they are. */
const unserved: readonly (readonly [path: string, what: string])[] = [
  ["embeddings", "Embeddings"],
  ["moderations", "Moderations"],
  ["images/:kind", "Images"],
  ["audio/:kind", "Speech"],
  ["files", "Files"],
  ["batches", "Batches"],
  ["messages/batches", "Batches"],
  ["assistants", "Assistants"],
  ["threads", "Threads"],
  ["vector_stores", "Vector stores"],
  ["rerank", "Ranking"],
  ["responses/compact", "Compaction"],
];

export function addUnservedRoutes(routes: Routes, gateway: Gateway): void {
  for (const prefix of ["", attemptPrefix]) {
    for (const [path, what] of unserved) {
      routes.add("POST", `${prefix}/v1/${path}`, `${what}: refused`, () => {
        const message = `${what} are not served here: this gateway answers calls of a language model. Point that client at another server.`;
        return errorResponse(chatCompletions, new ApiError(404, "not_served", message), gateway);
      });
    }
  }
}
