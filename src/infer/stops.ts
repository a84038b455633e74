import type { GenerateRequest } from "../schema/engine.ts";

/** Turns sampled ids into text for stop strings; special tokens included. */
export type DecodeText = (ids: Int32Array) => string;

/** Where a generation ends. */
export interface Stop {
  /** Sampled tokens that stay: up to and with the one that completed the stop. */
  readonly kept: number;
  readonly stopped: number | string;
}

/**
 * The first stop among sampled ids: a stop id, or a token that completes a stop string. `checked` ids were searched
 * before. A stop string may begin in text that was searched already, so the text is decoded from the start.
 */
export function findStop(
  request: Pick<GenerateRequest, "stopIds" | "stopStrings">,
  ids: Int32Array,
  checked: number,
  decode: DecodeText,
): Stop | null {
  for (let n = checked; n < ids.length; n++) {
    const id = ids[n] as number;
    if (request.stopIds.includes(id)) return { kept: n + 1, stopped: id };
    if (request.stopStrings.length === 0) continue;
    const text = decode(ids.subarray(0, n + 1));
    const found = request.stopStrings.find((s) => s !== "" && text.includes(s));
    if (found !== undefined) return { kept: n + 1, stopped: found };
  }
  return null;
}
