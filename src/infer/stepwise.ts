import type { LogitEdit } from "../ops/adjust_logits.ts";
import type { GenerateRequest } from "../schema/engine.ts";
import type { Sequence } from "./sequence.ts";

/** Most sequences of one step that need the host before each token. */
export const stepwiseRows = 8;

/** True when the host must act between two tokens of the reply: such a sequence draws one token per readback. */
export function isStepwise({ constraint, adjustments, topLogprobs = 0 }: GenerateRequest): boolean {
  return constraint !== undefined || topLogprobs > 0 || (adjustments !== undefined && changesLogits(adjustments));
}

/** True when some logit may change. */
export function changesLogits(a: NonNullable<GenerateRequest["adjustments"]>): boolean {
  const { frequencyPenalty = 0, presencePenalty = 0, repetitionPenalty = 1, logitBias = [] } = a;
  return frequencyPenalty !== 0 || presencePenalty !== 0 || repetitionPenalty !== 1 || logitBias.length > 0;
}

/** True when the next token is given: it is then drawn, and its log-probability taken, as if nothing was adjusted. */
export function isForcedNext(sequence: Sequence): boolean {
  return sequence.sampled < (sequence.request.forcedIds?.length ?? 0);
}

/** The changes to the logits of the next token, which stand in `row`; ids outside the vocabulary have no logit. */
export function logitEdits(sequence: Sequence, row: number, vocab: number): LogitEdit[] {
  const { adjustments, promptIds } = sequence.request;
  if (adjustments === undefined || !changesLogits(adjustments) || isForcedNext(sequence)) return [];
  const { frequencyPenalty = 0, presencePenalty = 0, repetitionPenalty = 1, logitBias = [] } = adjustments;
  const addends = new Map<number, number>();
  const repeated = new Set<number>(repetitionPenalty === 1 ? [] : promptIds);
  const reply = sequence.tokens.subarray(sequence.promptLength, sequence.length);
  for (const id of reply) {
    if (repetitionPenalty !== 1) repeated.add(id);
    addends.set(id, (addends.get(id) ?? -presencePenalty) - frequencyPenalty);
  }
  for (const [id, bias] of logitBias) addends.set(id, (addends.get(id) ?? 0) + bias);
  return [...new Set([...repeated, ...addends.keys()])]
    .filter((id) => id < vocab)
    .map((id) => ({ row, id, repetition: repeated.has(id) ? repetitionPenalty : 1, addend: addends.get(id) ?? 0 }));
}
