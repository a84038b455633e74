import type { Drawn } from "../infer/runner.ts";
import type { Sequence } from "../infer/sequence.ts";
import { type DecodeText, findStop } from "../infer/stops.ts";
import type { GenerateResult } from "../schema/engine.ts";

/**
 * Appends drawn tokens to a sequence, up to its first stop; what was drawn beyond that is dropped. Returns the result of
 * a generation that has ended, null while it goes on.
 */
export function appendDrawn(
  sequence: Sequence,
  drawn: Drawn,
  version: number,
  decodeText: DecodeText,
): GenerateResult | null {
  const before = sequence.sampled;
  const count = Math.min(drawn.ids.length, sequence.remaining);
  for (let i = 0; i < count; i++) {
    sequence.append(drawn.ids[i] as number, drawn.logprobs[i] as number, version);
    sequence.noteDraw(drawn.constrained === true, drawn.alternatives);
  }
  const ids = sequence.tokens.subarray(sequence.promptLength, sequence.length);
  const stop = findStop(sequence.request, ids, before, decodeText);
  if (stop !== null) {
    sequence.length = sequence.promptLength + stop.kept;
    return sequence.result("stop", stop.kept, stop.stopped);
  }
  return sequence.remaining === 0 ? sequence.result("length", sequence.sampled) : null;
}
