import { type SummaryQuery, type SummarySort, summarySorts } from "../../../src/schema/rollout_summary.ts";
import type { StudioPage } from "../../../src/schema/studio_api.ts";
import { type RolloutState, rolloutStates } from "../../../src/schema/wire.ts";
import { queryOf } from "../../context.ts";
import type { Routes } from "../../http/routes.ts";
import { queryInteger, queryProblem } from "../../http/validation.ts";
import type { Studio } from "../studio.ts";

/** Lines of one page at most. */
const largestPage = 1000;

function oneOf<T extends string>(query: URLSearchParams, name: string, known: readonly T[]): T | undefined {
  const text = query.get(name);
  if (text === null || known.includes(text as T)) return (text as T | null) ?? undefined;
  throw queryProblem("enum", name, `Input should be one of ${known.join(", ")}`, text);
}

function number(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name);
  if (text === null || text.trim() === "") return undefined;
  if (Number.isFinite(Number(text))) return Number(text);
  throw queryProblem("float_parsing", name, "Input should be a valid number", text);
}

function states(query: URLSearchParams): RolloutState[] | undefined {
  const text = query.get("state");
  if (text === null) return undefined;
  return text.split(",").map((state) => {
    if (rolloutStates.includes(state as RolloutState)) return state as RolloutState;
    throw queryProblem("enum", "state", `Input should be some of ${rolloutStates.join(",")}`, text);
  });
}

/** Groups of an update; without one, those asked for by name. */
async function groups(query: URLSearchParams, studio: Studio): Promise<string[] | undefined> {
  const update = number(query, "update");
  const group = query.get("group");
  if (update === undefined) return group === null ? undefined : [group];
  const trained = (await studio.gateway.deps.studio?.updates()) ?? new Map<string, number>();
  return [...trained].flatMap(([name, at]) => (at === update && (group === null || group === name) ? [name] : []));
}

function present<T extends object>(fields: T): T {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as T;
}

/** What a query asks of the table. @throws DetailError 422 */
async function summaryQuery(query: URLSearchParams, studio: Studio): Promise<SummaryQuery> {
  const breaks = oneOf(query, "breaks", ["true", "false"]);
  return {
    ...present({
      states: states(query),
      mode: oneOf(query, "mode", ["train", "val"]),
      agent: query.get("agent") ?? undefined,
      task: query.get("task") ?? undefined,
      text: query.get("text") ?? undefined,
      groups: await groups(query, studio),
      rewardMin: number(query, "reward_min"),
      rewardMax: number(query, "reward_max"),
      breaks: breaks === undefined ? undefined : breaks === "true",
      sort: oneOf<SummarySort>(query, "sort", summarySorts),
    }),
    descending: oneOf(query, "order", ["asc", "desc"]) === "desc",
    offset: Math.max(0, queryInteger(query, "offset", 0)),
    limit: Math.min(largestPage, Math.max(0, queryInteger(query, "limit", 100))),
  };
}

export function addRolloutsRoute(routes: Routes, studio: Studio): void {
  const { gateway } = studio;
  routes.add("GET", "/studio/api/rollouts", "The table of rollouts, filtered, sorted and cut", async (c) => {
    await gateway.requireAdmin(c);
    const asked = await summaryQuery(queryOf(c), studio);
    const page = await gateway.store.summaries(asked);
    const answer: StudioPage = { ...page, rows: await studio.lines(page.rows), offset: asked.offset ?? 0 };
    return Response.json(answer);
  });
}
