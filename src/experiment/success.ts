import type { RngKey } from "../core/rng.ts";
import { bootstrapInterval, type PairedDifference, pairedDifference, passAtKEstimate } from "../rl/statistics.ts";
import type { TaskResult } from "./evaluation.ts";

/** Success over held-out tasks; a reward above 0.5 is a success. */
export interface SuccessSummary {
  tasks: number;
  /** Mean success of one sample. */
  pass1: number;
  /** Unbiased chance that at least one of k samples succeeds, k = samples per task. */
  passk: number;
  k: number;
  /** 95 % bootstrap interval of pass1 over tasks. */
  ci95: [number, number];
  /** Mean reward, for rewards that are not 0 or 1. */
  reward: number;
}

function successes(result: TaskResult): number {
  return result.rewards.filter((r) => r > 0.5).length;
}

function rates(results: readonly TaskResult[]): number[] {
  return results.map((r) => (r.rewards.length === 0 ? 0 : successes(r) / r.rewards.length));
}

function average(values: readonly number[]): number {
  return values.length === 0 ? 0 : values.reduce((a, b) => a + b, 0) / values.length;
}

/** Summary of an evaluation; the same key gives the same interval. */
export function summarizeSuccess(results: readonly TaskResult[], key: RngKey): SuccessSummary {
  const interval = bootstrapInterval(rates(results), key);
  const k = results.reduce((n, r) => Math.min(n, r.rewards.length), results[0]?.rewards.length ?? 0);
  const passk = k === 0 ? 0 : average(results.map((r) => passAtKEstimate(r.rewards.length, successes(r), k)));
  return {
    tasks: results.length,
    pass1: interval.value,
    passk,
    k,
    ci95: [interval.low, interval.high],
    reward: average(results.flatMap((r) => r.rewards)),
  };
}

/** Mean difference b - a in success over the same tasks. @throws LeydenError "unpaired" when they differ in number */
export function compareSuccess(a: readonly TaskResult[], b: readonly TaskResult[], key: RngKey): PairedDifference {
  return pairedDifference(rates(a), rates(b), key);
}
