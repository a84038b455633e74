import { asLeydenError, LeydenError } from "../core/errors.ts";
import type { PlanInputs } from "../gpu/plan.ts";
import { encodeLogitEdits, maskWords } from "../ops/adjust_logits.ts";
import type { Sequence } from "./sequence.ts";
import { isForcedNext, logitEdits } from "./stepwise.ts";
import { type Alternatives, topLogprobs } from "./top_logprobs.ts";

/** What the host gives to one step of stepwise sequences. */
export interface AdjustedStep {
  readonly values: { readonly E: number; readonly M: number };
  readonly inputs: PlanInputs;
  /** True when someone wants to know the likeliest tokens, for which the logits are read back. */
  readonly readsLogits: boolean;
  /** Sequences that draw under a mask. */
  readonly masked: ReadonlySet<Sequence>;
  /** Sequences whose constraint failed. */
  readonly failed: ReadonlyMap<Sequence, LeydenError>;
}

/** Edits and masks for the sequences that draw, in the order of their rows of logits. A forced token has neither. */
export async function prepareStep(drawing: readonly Sequence[], vocab: number): Promise<AdjustedStep> {
  const words = maskWords(vocab);
  const edits = drawing.flatMap((sequence, row) => logitEdits(sequence, row, vocab));
  const masks: { row: number; bits: Uint32Array }[] = [];
  const masked = new Set<Sequence>();
  const failed = new Map<Sequence, LeydenError>();
  for (const [row, sequence] of drawing.entries()) {
    if (sequence.constraint === null || isForcedNext(sequence)) continue;
    const bits = new Uint32Array(words);
    try {
      if (!(await sequence.constraint.mask(bits))) continue;
    } catch (thrown) {
      failed.set(sequence, asLeydenError(thrown));
      continue;
    }
    masks.push({ row, bits });
    masked.add(sequence);
  }
  const packed = new Uint32Array(masks.length * words);
  for (const [m, { bits }] of masks.entries()) packed.set(bits, m * words);
  return {
    values: { E: edits.length, M: masks.length },
    inputs: { edits: encodeLogitEdits(edits), maskedRows: Uint32Array.from(masks, (m) => m.row), masks: packed },
    readsLogits: drawing.some((s) => (s.request.topLogprobs ?? 0) > 0),
    masked,
    failed,
  };
}

/** The likeliest tokens beside the one that was drawn, from its row of logits; undefined when nobody asked. */
export function alternativesOf(
  { request, sampled }: Sequence,
  logits: Float32Array,
  id: number,
  logprob: number,
): Alternatives | undefined {
  const count = request.topLogprobs ?? 0;
  if (count === 0) return undefined;
  const forced = sampled < (request.forcedIds?.length ?? 0);
  const sampling = forced ? { ...request.sampling, topK: 0, topP: 1, minP: 0 } : request.sampling;
  return topLogprobs(logits, { id, logprob }, sampling, count);
}

/** The error of a reply that nothing can continue. */
export function deadEnd({ sampled }: Sequence): LeydenError {
  return new LeydenError(
    "constraint_dead_end",
    `After ${sampled} tokens of the reply its constraint allows no token that the model can draw.`,
    { do: "Loosen the schema or grammar, or check that the tokenizer can write what it asks for." },
  );
}
