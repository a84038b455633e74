import type { TrainRow } from "../../schema/engine.ts";
import type { LossConfig } from "../../schema/loss.ts";
import type { ModelGolden, PpoSection } from "./model_golden.ts";

/** First and one past the last token of each packed sequence. */
export function sequences(golden: ModelGolden): [start: number, end: number][] {
  return golden.cu_seqlens.slice(1).map((end, i) => [golden.cu_seqlens[i] as number, end]);
}

/** Numbers of each token's record, by its index in the packed ids. */
export interface TokenNumbers {
  weight(t: number): number;
  advantage?(t: number): number;
  oldLogprob?(t: number): number;
  refLogprob?(t: number): number;
}

/** One row per sequence; every token but the first is predicted by the one before it. */
export function trainRows(golden: ModelGolden, numbers: TokenNumbers): TrainRow[] {
  return sequences(golden).map(([start, end]) => {
    const predicted = Array.from({ length: Math.max(0, end - start - 1) }, (_, i) => start + 1 + i);
    const floats = (value: ((t: number) => number) | undefined): Float32Array =>
      Float32Array.from(predicted, value ?? (() => 0));
    return {
      ids: Int32Array.from(golden.input_ids.slice(start, end)),
      src: Int32Array.from(predicted, (t) => t - 1 - start),
      target: Int32Array.from(predicted, (t) => golden.input_ids[t] as number),
      weight: floats((t) => numbers.weight(t)),
      advantage: floats(numbers.advantage),
      oldLogprob: floats(numbers.oldLogprob),
      refLogprob: floats(numbers.refLogprob),
    };
  });
}

/** The golden's per-token list of what the rows' records hold: 0 at each sequence's first token. */
export function perToken(golden: ModelGolden, records: ArrayLike<number>): number[] {
  const out: number[] = [];
  let record = 0;
  for (const [start, end] of sequences(golden)) {
    for (let t = start; t < end; t++) out.push(t === start ? 0 : (records[record++] as number));
  }
  return out;
}

/** Loss settings of the golden's PPO; the other sections change some of them. */
export function ppoLoss(golden: ModelGolden, ppo: PpoSection | undefined): LossConfig {
  return {
    kind: "ppo",
    temperature: golden.temperature,
    clipLow: ppo?.clip_low ?? 0.2,
    clipHigh: ppo?.clip_high ?? 0.2,
    dualClip: 0,
    klCoef: 0,
    klKind: "k3",
    entropyCoef: 0,
  };
}
