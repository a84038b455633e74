import type { TrainRow } from "../../schema/engine.ts";
import { everything } from "../advantages/token_estimator.ts";
import { estimateTokenAdvantages, type TokenAdvantageConfig } from "../advantages/token_registry.ts";
import { klInReward } from "../kl.ts";
import { mean } from "../reward_statistics.ts";
import type { Batch } from "./batch_input.ts";
import { gather, type UnitSequence } from "./sequences.ts";
import { spread } from "./spread.ts";

/** What the device said of every record of a batch, row by row; null where it was not asked. */
export interface RecordScores {
  logprobs: Float32Array | null;
  refLogprobs: Float32Array | null;
  values: Float32Array | null;
}

/** What the KL to the reference takes off the reward of every token, (N, T), and the mean KL per token. */
export function klPenalties(
  sequences: readonly UnitSequence[],
  { logprobs, refLogprobs }: RecordScores,
  coef: number,
): { penalties: Float64Array[]; kl: number } {
  const none = sequences.map(({ places }) => new Float64Array(places.length));
  if (coef === 0 || logprobs === null || refLogprobs === null) return { penalties: none, kl: 0 };
  const own = gather(sequences, ({ flat }) => logprobs[flat] as number);
  const reference = gather(sequences, ({ flat }) => refLogprobs[flat] as number);
  const differences = own.flatMap((row, i) => [...row].map((l, t) => l - (reference[i]?.[t] as number)));
  const left = klInReward(none, own, reference, everything(own), coef);
  return { penalties: left.map((row) => row.map((reward) => -reward)), kl: mean(differences) };
}

/** Rewards less penalties, both (N, T). */
export function penalised(rewards: readonly Float64Array[], penalties: readonly Float64Array[]): Float64Array[] {
  return rewards.map((row, i) => row.map((reward, t) => reward - (penalties[i]?.[t] as number)));
}

/** Writes token-level advantages, and what a critic learns from, into the rows; returns metrics under verl's names. */
export function writeTokenAdvantages(
  batch: Batch,
  sequences: readonly UnitSequence[],
  groups: readonly string[],
  rewards: readonly Float64Array[],
  { values: scored }: RecordScores,
  advantage: TokenAdvantageConfig,
): Record<string, number> {
  const values = scored && gather(sequences, ({ flat }) => scored[flat] as number);
  const found = estimateTokenAdvantages(
    sequences.map(({ unit }, i) => ({
      group: groups[unit] as string,
      rewards: rewards[i] as Float64Array,
      values: values?.[i] ?? null,
    })),
    advantage,
  );
  if (found.returns !== null) for (const row of batch.rows) makeRoom(row);
  for (const [i, { places }] of sequences.entries()) {
    for (const [t, { row: at, record }] of places.entries()) {
      const row = batch.rows[at] as TrainRow;
      row.advantage[record] = found.advantages[i]?.[t] as number;
      if (row.returns === undefined || row.oldValue === undefined) continue;
      row.returns[record] = found.returns?.[i]?.[t] as number;
      row.oldValue[record] = values?.[i]?.[t] as number;
    }
  }
  return {
    ...rewardMetrics(rewards),
    ...spread("critic/advantages", flatten(found.advantages)),
    ...spread("critic/returns", flatten(found.returns ?? found.toGo ?? found.advantages)),
    ...(found.returns === null ? {} : criticMetrics(flatten(found.returns), flatten(values ?? []))),
  };
}

/** What each sequence earned, a KL in the reward taken off. */
export function rewardMetrics(rewards: readonly Float64Array[]): Record<string, number> {
  const sums = rewards.map((row) => row.reduce((a, b) => a + b, 0));
  return spread("critic/rewards", sums);
}

function makeRoom(row: TrainRow): void {
  row.returns = new Float32Array(row.src.length);
  row.oldValue = new Float32Array(row.src.length);
}

function flatten(rows: readonly Float64Array[]): number[] {
  return rows.flatMap((row) => [...row]);
}

/** Values, and the share of the returns' variance that the values explain. */
function criticMetrics(returns: readonly number[], values: readonly number[]): Record<string, number> {
  const variance = (of: readonly number[]): number => {
    const m = mean(of);
    return mean(of.map((v) => (v - m) ** 2));
  };
  const total = variance(returns);
  const rest = variance(returns.map((r, i) => r - (values[i] as number)));
  return {
    ...spread("critic/values", values),
    "critic/vf_explained_var": total === 0 ? 0 : 1 - rest / total,
  };
}
