import type { RunStatus } from "../../schema/run_control.ts";
import type { MetricsLine } from "./run_feed.ts";

interface Known {
  readonly update: number;
  readonly version: number;
}

/**
 * The update after which a policy version answered. A page learns of an update when it has finished, which is after its
 * weights are in use: a version beyond all that are known is of the update under way.
 */
export function updateOfVersion(version: number, status: RunStatus, lines: readonly MetricsLine[]): number {
  const finished: Known[] = lines.map((line) => ({
    update: Number(line.step),
    version: Number(line.version ?? line.step),
  }));
  const known = [...finished, { update: status.update, version: status.version }].sort((a, b) => a.update - b.update);
  const before = known.findLast((one) => one.version <= version);
  if (before === undefined) return Math.max(0, (known[0]?.update ?? 1) - 1);
  return before.version === version ? before.update : before.update + 1;
}
