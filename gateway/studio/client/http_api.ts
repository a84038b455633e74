import { knownStatus } from "../../../src/schema/known_status.ts";
import type { StudioApi, TableFilters } from "./api.ts";
import { StudioError } from "./api.ts";

/** Sends a request to the gateway with whatever it takes to be let in. */
export type StudioFetch = (path: string, init?: RequestInit) => Promise<Response>;

const waitSeconds = 25;

/** What a refusal says, in whichever form it comes. */
function refusalText(body: unknown, status: number): string {
  const { detail, error } = (body ?? {}) as { detail?: unknown; error?: { message?: string; do?: string } };
  if (typeof detail === "string") return detail;
  if (Array.isArray(detail)) return detail.map((problem) => `${problem?.loc?.at(-1)}: ${problem?.msg}`).join("; ");
  if (error?.message !== undefined) return [error.message, error.do].filter((part) => part).join(" ");
  return `HTTP ${status}`;
}

/** The query of filters, empty ones left out. */
export function filterQuery(filters: Partial<TableFilters>): URLSearchParams {
  return new URLSearchParams(Object.entries(filters).filter(([, value]) => value !== "" && value !== undefined));
}

/** The studio's data from a gateway. */
export function httpApi(send: StudioFetch): StudioApi {
  const ask = async (path: string, init?: RequestInit): Promise<Response> => {
    const response = await send(`/studio/api/${path}`, init);
    if (response.ok) return response;
    const body: unknown = await response.json().catch(() => null);
    throw new StudioError(response.status, refusalText(body, response.status));
  };
  const read = async <T>(path: string, init?: RequestInit): Promise<T> => (await ask(path, init)).json() as Promise<T>;
  const post = <T>(path: string, body: unknown): Promise<T> =>
    read(path, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
  const part = encodeURIComponent;
  return {
    isLive: true,
    run: () => read("run"),
    metrics: (after, run) => read(`metrics?after=${after}${run === undefined ? "" : `&run=${part(run)}`}`),
    runs: async () => (await read<{ runs: Awaited<ReturnType<StudioApi["runs"]>> }>("runs")).runs,
    rollouts: (filters, offset, limit) => {
      const query = filterQuery(filters);
      query.set("offset", String(offset));
      query.set("limit", String(limit));
      return read(`rollouts?${query}`);
    },
    rollout: (id) => read(`rollouts/${part(id)}`),
    call: (rollout, call, whole) => read(`rollouts/${part(rollout)}/calls/${part(call)}${whole ? "?whole=true" : ""}`),
    score: (rollout, call) => read(`rollouts/${part(rollout)}/calls/${part(call)}/score`),
    fork: (rollout, call, request) => post(`rollouts/${part(rollout)}/calls/${part(call)}/fork`, request),
    group: (id) => read(`groups/${part(id)}`),
    regrade: (rollout, reward) => post(`rollouts/${part(rollout)}/reward`, { reward }),
    timeline: (after) => read(`timeline?after=${after}`),
    changes: (after, known, signal) => {
      const query = new URLSearchParams({ after: String(after) });
      if (after >= 0) {
        query.set("wait_seconds", String(waitSeconds));
        query.set("known", knownStatus(known));
      }
      return read(`changes?${query}`, { signal });
    },
    report: async () => (await ask("report")).blob(),
  };
}
