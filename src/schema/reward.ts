/** Largest size of a reward. */
export const largestReward = 1e12;

/**
 * True for what can be a reward: a finite number of at most 1e12 in size. Advantages, weights and gradients are float32 on
 * the device, and the norm of a step's gradient is a sum of squares, which end at 3e38: one larger reward would make that
 * norm infinite, and with it the step of all other rollouts change nothing.
 */
export function isReward(value: unknown): value is number {
  return typeof value === "number" && Math.abs(value) <= largestReward;
}
