import type { LoopReporter } from "../experiment/loop.ts";
import type { MetricsLine } from "../experiment/run_folder.ts";

/** The reporter, with `told` called after it has heard of an update. */
export function watchUpdates(reporter: LoopReporter, told: (line: MetricsLine) => void): LoopReporter {
  return {
    rollouts: (...facts) => reporter.rollouts(...facts),
    failures: (...facts) => reporter.failures(...facts),
    validation: (...facts) => reporter.validation(...facts),
    update: (line) => {
      reporter.update(line);
      told(line);
    },
  };
}
