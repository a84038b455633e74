import type { Rows } from "../masked.ts";

/** Tokens that one unit drew, in order: what token-level estimators see of it. */
export interface TokenSequence {
  /** Sequences of one group (rollouts of one task) may be compared with each other. */
  group: string;
  /** What each token earned, (T). */
  rewards: Float64Array;
  /** What the critic said of the state before each token, (T); null without one. */
  values: Float64Array | null;
}

/** Advantages per token, and what a critic should learn to say; ragged (N, T). */
export interface TokenAdvantages {
  advantages: Float64Array[];
  /** Null for estimators without a critic. */
  returns: Float64Array[] | null;
  /** Returns to go of an estimator without a critic, where its advantages are not these. */
  toGo?: Float64Array[];
}

/** One advantage estimator over token rewards, float64. */
export interface TokenEstimator<Options extends object> {
  name: string;
  defaults: Readonly<Options>;
  needsValues: boolean;
  estimate(sequences: readonly TokenSequence[], options: Readonly<Options>): TokenAdvantages;
}

/** A mask that leaves nothing out. */
export function everything(rows: Rows): Uint8Array[] {
  return rows.map((row) => new Uint8Array(row.length).fill(1));
}
