/** Sizes that several lessons have in common. */

/** Two updates of two groups of four: what a test can wait for. */
export const tiny: Readonly<Record<string, unknown>> = {
  "train.updates": 2,
  "train.tasksPerUpdate": 2,
  "train.groupSize": 4,
};

/** Updates of a lesson whose point is in the records, not in what is learnt. */
export const brief: Readonly<Record<string, unknown>> = { "train.updates": 2 };
