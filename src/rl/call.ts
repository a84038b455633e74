import type { Numbers } from "./masked.ts";

/** One LLM call as the trainer sees it: exact token ids and what is known of each sampled token. */
export interface Call {
  id: string;
  /** The attempt of the rollout that made the call. */
  attempt: string;
  promptIds: Numbers;
  /** Sampled ids; empty for a call that failed or was answered with nothing. */
  replyIds: Numbers;
  /** Log-probability of each sampled id under the distribution it was drawn from; null when not recorded. */
  logprobs: Numbers | null;
  /** Policy version of each sampled id; null when not recorded. */
  versions: Numbers | null;
}

/** True when every sampled token has a finite log-probability, so that the call can be trained. */
export function hasLogprobs(call: Call): boolean {
  const { logprobs, replyIds } = call;
  if (logprobs === null || logprobs.length !== replyIds.length) return false;
  for (let t = 0; t < logprobs.length; t++) if (!Number.isFinite(logprobs[t])) return false;
  return true;
}

/** A key that equals another's exactly when the ids are equal. */
export function idsKey(ids: Numbers): string {
  return Array.prototype.join.call(ids, ",");
}
