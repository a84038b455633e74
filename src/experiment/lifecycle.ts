import type { Clock } from "../core/clock.ts";

/** Times of a rollout's life in seconds since the epoch; `running` is null when nobody saw it start. */
export interface Lifecycle {
  readonly created: number;
  readonly running: number | null;
  readonly finished: number;
}

/** Value at a share of the sorted values, the nearest rank. */
function quantile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.max(0, Math.ceil(share * sorted.length) - 1))] ?? 0;
}

/**
 * How long rollouts waited, ran and took in all, under Agent Lightning's names: mean, p50, p90 and max of each, over those
 * whose times are known; 0 where there are none. What the clock says that the program stood still, as in a tab that the
 * browser has frozen, is left out.
 */
export function lifecycleMetrics(
  lives: readonly Lifecycle[],
  clock: Pick<Clock, "stoodStill"> = {},
): Record<string, number> {
  const between = (from: number, to: number): number =>
    Math.max(0, to - from - (clock.stoodStill?.(1000 * from, 1000 * to) ?? 0) / 1000);
  const seen = lives.filter((life): life is Lifecycle & { running: number } => life.running !== null);
  const durations: Readonly<Record<string, readonly number[]>> = {
    rollout_queue_wait_s: seen.map(({ created, running }) => between(created, running)),
    rollout_run_duration_s: seen.map(({ running, finished }) => between(running, finished)),
    rollout_total_s: lives.map(({ created, finished }) => between(created, finished)),
  };
  const metrics: Record<string, number> = { "timing/rollout_n_missing_running_ts": lives.length - seen.length };
  for (const [name, values] of Object.entries(durations)) {
    const sorted = [...values].sort((a, b) => a - b);
    metrics[`timing/${name}/mean`] = sorted.reduce((a, b) => a + b, 0) / Math.max(1, sorted.length);
    metrics[`timing/${name}/p50`] = quantile(sorted, 0.5);
    metrics[`timing/${name}/p90`] = quantile(sorted, 0.9);
    metrics[`timing/${name}/max`] = sorted.at(-1) ?? 0;
  }
  return metrics;
}
