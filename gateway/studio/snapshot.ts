/** A run as one value, for a report. */

import type { GroupCredit } from "../../src/schema/studio.ts";
import type { StudioLine, StudioRollout, StudioSnapshot } from "../../src/schema/studio_api.ts";
import { studioRollout } from "./routes/rollout.ts";
import { studioRun } from "./routes/run.ts";
import { studioTimeline } from "./routes/timeline.ts";
import type { Studio } from "./studio.ts";

/** Lines of a report at most; they are small. */
const mostLines = 50_000;

/** The rollouts worth their details: by turns the newest, and the newest with breaks or failures. */
function worthDetails(lines: readonly StudioLine[], count: number): StudioLine[] {
  const newest = [...lines].sort((a, b) => b.updatedAt - a.updatedAt);
  const odd = newest.filter((line) => line.breaks > 0 || line.failures > 0 || line.state === "failed");
  const turns = newest.flatMap((line, i) => [line, ...(odd[i] === undefined ? [] : [odd[i]])]);
  return [...new Set(turns)].slice(0, count);
}

/** Everything about a run, with tokens of `details` of its rollouts and credits of the groups these belong to. */
export async function studioSnapshot(studio: Studio, details: number): Promise<StudioSnapshot> {
  const { store } = studio.gateway;
  const rollouts = await studio.lines((await store.summaries({ limit: mostLines })).rows);
  const full: Record<string, StudioRollout> = {};
  const groups: Record<string, GroupCredit> = {};
  for (const line of worthDetails(rollouts, details)) {
    full[line.id] = await studioRollout(studio, line.id, true);
    if (line.group === "" || groups[line.group] !== undefined) continue;
    const credit = await studio.source().credit(line.group);
    if (credit !== null) groups[line.group] = credit;
  }
  const run = await studioRun(studio);
  return {
    format: "leyden-studio-1",
    at: studio.gateway.now(),
    run: { ...run, can: { control: false, start: false, fork: false, report: false } },
    metrics: await studio.source().metrics(-1),
    timeline: await studioTimeline(studio, 0),
    rollouts,
    details: full,
    groups,
    runs: [],
  };
}
