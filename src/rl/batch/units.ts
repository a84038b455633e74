import type { TrainRow } from "../../schema/engine.ts";
import type { RowShare } from "../normalisation.ts";
import type { CallRecord, RowOrigin } from "./batch_input.ts";

/** What every record of a unit carries. */
export interface UnitTerms {
  weight: number;
  advantage: number;
  /** False leaves the unit out of the compute. */
  trained: boolean;
}

/** Training rows with their origins. */
export interface BuiltRows {
  rows: TrainRow[];
  origins: RowOrigin[];
  counts: Record<string, number>;
}

/**
 * The rollouts of a step laid out in a view. Units are the view's sequences (linear rows, or lineages of the trie) in
 * canonical order: normalisation and row-level advantages see these.
 */
export interface Layout {
  units: RowShare[];
  /** Calls of each unit, with how many of their sampled tokens are in it. */
  calls: { call: CallRecord; tokens: number }[][];
  counts: Record<string, number>;
  /** Rows of the trained units, given the terms of every unit. */
  build(terms: readonly UnitTerms[]): BuiltRows;
}
