import type { Clock } from "../../src/core/clock.ts";

/** A clock that stands still: for tests in which durations do not matter. */
export const stillClock: Clock = {
  now: () => 0,
  monotonic: () => 0,
  sleep: async () => undefined,
};
