import type { ScoreResult } from "../schema/engine.ts";

/**
 * Log-probabilities of a text of any length: one that does not fit the context is scored in windows that overlap by
 * half, so that every token keeps at least half a context before it. The first token's is 0.
 */
export async function scoreWindows(
  ids: Int32Array,
  contextLength: number,
  score: (window: Int32Array) => Promise<Pick<ScoreResult, "logprobs">>,
): Promise<Float32Array> {
  const out = new Float32Array(ids.length);
  const step = Math.max(1, contextLength - (contextLength >> 1));
  let done = 0;
  for (let start = 0; done < ids.length; start += step) {
    const end = Math.min(ids.length, start + contextLength);
    const { logprobs } = await score(ids.subarray(start, end));
    out.set(logprobs.subarray(done - start), done);
    done = end;
  }
  return out;
}
