import type { RowShare } from "../normalisation.ts";
import type { BatchRollout } from "./batch_input.ts";
import type { SelectedRollout } from "./select.ts";

/** What became of each rollout that has sampled tokens. */
export function summariseRollouts(
  rollouts: readonly SelectedRollout[],
  units: readonly RowShare[],
  advantages: readonly number[],
): BatchRollout[] {
  const summary = new Map<string, BatchRollout>();
  for (const { id, group, task, reward } of rollouts) {
    summary.set(id, { id, group, task, reward, advantage: 0, tokens: 0, rows: 0 });
  }
  units.forEach((unit, i) => {
    const rollout = summary.get(unit.rollout) as BatchRollout;
    // Running mean over tokens: exact when all units have the same advantage.
    rollout.tokens += unit.tokens;
    rollout.rows++;
    rollout.advantage += (((advantages[i] as number) - rollout.advantage) * unit.tokens) / rollout.tokens;
  });
  return [...summary.values()].filter((rollout) => rollout.tokens > 0);
}
