/** Sizes that several lessons have in common. */

/** Two updates of two groups of four: what a test can wait for. */
export const tiny: Readonly<Record<string, unknown>> = {
  "train.updates": 2,
  "train.tasksPerUpdate": 2,
  "train.groupSize": 4,
};

/** Seconds that the clerk's machine takes in a run, for the texts. */
export function machineSeconds(valueAt: (path: string) => unknown): number {
  const { CLERK_TOOL_MS: ms = "0" } = valueAt("rollout.env") as Record<string, string>;
  return Number(ms) / 1000;
}

/** Updates of a lesson whose point is in the records, not in what is learnt. */
export const brief: Readonly<Record<string, unknown>> = { "train.updates": 2 };
