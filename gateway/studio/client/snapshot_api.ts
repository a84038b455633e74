import { type SummaryQuery, summaryPage } from "../../../src/schema/rollout_summary.ts";
import type { StudioCall, StudioLine, StudioSnapshot } from "../../../src/schema/studio_api.ts";
import type { RolloutMode, RolloutState } from "../../../src/schema/wire.ts";
import { type StudioApi, StudioError, type TableFilters } from "./api.ts";

function number(text: string): number | undefined {
  return text === "" ? undefined : Number(text);
}

/** The filters as stores take them; what is empty is left out. */
function queryOf(f: TableFilters, offset: number, limit: number): SummaryQuery {
  const query = {
    states: f.state === "" ? undefined : (f.state.split(",") as RolloutState[]),
    mode: f.mode === "" ? undefined : (f.mode as RolloutMode),
    agent: f.agent || undefined,
    task: f.task || undefined,
    groups: f.group === "" ? undefined : [f.group],
    rewardMin: number(f.reward_min),
    rewardMax: number(f.reward_max),
    breaks: f.breaks === "" ? undefined : f.breaks === "true",
    text: f.text,
  };
  const given = Object.fromEntries(Object.entries(query).filter(([, value]) => value !== undefined));
  return { ...given, sort: f.sort, descending: f.order === "desc", offset, limit };
}

function refused(): Promise<never> {
  return Promise.reject(new StudioError(409, "A report only shows what it holds."));
}

function missing(what: string): StudioError {
  return new StudioError(404, what);
}

/** The studio's data from a report: the same answers, without anybody to ask. */
export function snapshotApi(snapshot: StudioSnapshot): StudioApi {
  const detail = (id: string) => {
    const found = Object.hasOwn(snapshot.details, id) ? snapshot.details[id] : undefined;
    if (found === undefined) throw missing(`not in this report: ${id}`);
    return found;
  };
  return {
    isLive: false,
    run: async () => snapshot.run,
    metrics: async (after) => ({ lines: snapshot.metrics.filter((line) => (line.step as number) > after) }),
    runs: async () => snapshot.runs,
    rollouts: async (filters, offset, limit) => {
      const update = number(filters.update);
      const lines = snapshot.rollouts.filter((line) => update === undefined || line.update === update);
      const page = summaryPage(lines, queryOf(filters, offset, limit));
      return { ...page, rows: page.rows as StudioLine[], offset };
    },
    rollout: async (id) => detail(id),
    call: async (rollout, id) => {
      const found = detail(rollout).calls.find((call) => call.id === id);
      if (found === undefined || !("reply" in found)) throw missing(`not in this report: ${id}`);
      return found as StudioCall;
    },
    score: refused,
    fork: refused,
    group: async (id) => {
      const found = Object.hasOwn(snapshot.groups, id) ? snapshot.groups[id] : undefined;
      if (found === undefined) throw missing(`not in this report: ${id}`);
      return found;
    },
    regrade: refused,
    timeline: async () => snapshot.timeline,
    changes: (after, _, signal) =>
      after < 0
        ? Promise.resolve({ cursor: 0, rollouts: [], updated: false, status: snapshot.run.status })
        : new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason), { once: true })),
    report: refused,
  };
}
