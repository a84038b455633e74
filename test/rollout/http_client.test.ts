import { describe, expect, it } from "vitest";
import { HttpClient, type HttpClientDeps } from "../../src/rollout/http_client.ts";
import { newRollout } from "../../src/schema/rollout.ts";
import type { Rollout } from "../../src/schema/wire.ts";
import { ManualClock } from "./manual_clock.ts";

interface Sent {
  method: string;
  path: string;
  key: string | null;
  body: unknown;
}

/** A gateway that answers by path; unknown paths get 404. */
function fakeGateway(answer: (sent: Sent) => { status?: number; body?: unknown } | undefined) {
  const sent: Sent[] = [];
  const fetchFake = async (url: string | URL | Request, init?: RequestInit): Promise<Response> => {
    const { pathname, search } = new URL(String(url));
    const request = {
      method: String(init?.method),
      path: pathname + search,
      key: new Headers(init?.headers).get("authorization"),
      body: typeof init?.body === "string" ? JSON.parse(init.body) : undefined,
    };
    sent.push(request);
    const { status = 200, body = { detail: "Not Found" } } = answer(request) ?? { status: 404 };
    return new Response(status === 204 ? null : JSON.stringify(body), { status });
  };
  return { sent, fetchFake: fetchFake as typeof fetch };
}

function client(fetchFake: typeof fetch, more: Partial<HttpClientDeps> = {}) {
  const clock = new ManualClock();
  const deps = { fetch: fetchFake, clock, gatewayUrl: "http://gw:1/", key: "k", dialects: "all" as const, pollMs: 500 };
  return { clock, client: new HttpClient({ ...deps, ...more }) };
}

function rollout(id: string, version = 1): Rollout {
  const made = newRollout({ input: { q: 1 } }, id, 5);
  return { ...made, status: { ...made.status, version } };
}

describe("HttpClient", () => {
  it("speaks Agent Lightning's protocol", async () => {
    const event = { event_type: "reward", rollout_id: "a/b", attempt_id: "0", timestamp: 1, data: { value: 1 } };
    const other = { ...event, attempt_id: "1" };
    const { sent, fetchFake } = fakeGateway(({ method, path }) => {
      if (path.startsWith("/api/rollouts?")) return { body: [rollout("a/b")] };
      if (path.endsWith("/events") && method === "GET") return { body: [event, other] };
      if (method === "GET") return { body: { rollout: rollout("a/b"), attempts: ["0"] } };
      return { body: {} };
    });
    const { client: http } = client(fetchFake);
    expect(await http.list(["queuing", "running"])).toEqual([rollout("a/b")]);
    expect(await http.get("a/b")).toEqual(rollout("a/b"));
    await http.patch("a/b", { state: "running", last_attempt_id: "0" });
    await http.postEvent("a/b", "0", { event_type: "reward", data: { value: 1 }, event_id: "e" });
    expect(await http.events("a/b", "0")).toEqual([event]);
    expect(sent.map(({ method, path }) => `${method} ${path}`)).toEqual([
      "GET /api/rollouts?state_in=queuing&state_in=running&limit=5000",
      "GET /api/rollouts/a%2Fb",
      "PATCH /api/rollouts/a%2Fb",
      "POST /api/rollouts/a%2Fb/attempt/0/events",
      "GET /api/rollouts/a%2Fb/events",
    ]);
    expect(sent[2]).toMatchObject({ key: "Bearer k", body: { status: { state: "running", last_attempt_id: "0" } } });
    expect(sent[3]?.body).toEqual({ event_type: "reward", data: { value: 1 }, event_id: "e" });
  });

  it("turns refusals into codes", async () => {
    const statuses: Record<string, number> = { gone: 404, over: 409, shut: 401 };
    const { fetchFake } = fakeGateway(({ path }) => ({
      status: statuses[path.split("/").at(-1) ?? ""] ?? 500,
      body: { detail: "why" },
    }));
    const { client: http } = client(fetchFake);
    expect(await http.get("gone")).toBeNull();
    const code = (id: string) => http.patch(id, {}).catch((error: { code: string }) => error.code);
    expect(await Promise.all(["gone", "over", "shut", "odd"].map(code))).toEqual([
      "rollout_not_found",
      "illegal_transition",
      "gateway_refused",
      "gateway_refused",
    ]);
    await expect(http.patch("odd", {})).rejects.toThrow('PATCH /api/rollouts/odd was answered 500: {"detail":"why"}');
  });

  it("says when the gateway does not answer", async () => {
    const { client: http } = client(() => Promise.reject(new TypeError("fetch failed")));
    await expect(http.list(["queuing"])).rejects.toMatchObject({ code: "gateway_unreachable" });
  });

  it("finds changes by looking again", async () => {
    let now = [rollout("a"), rollout("b")];
    const { fetchFake } = fakeGateway(() => ({ body: now }));
    const { client: http, clock } = client(fetchFake);
    const cursor = await http.cursor();
    const watched = http.watch(cursor, new AbortController().signal);
    await clock.advance(500);
    now = [rollout("b", 2), rollout("c")];
    await clock.advance(500);
    expect((await watched).changes).toEqual([
      { rolloutId: "b", kind: "patched" },
      { rolloutId: "c", kind: "created" },
      { rolloutId: "a", kind: "patched" },
    ]);
  });

  it("waits for changes where the gateway tells of them", async () => {
    const answers = [
      { cursor: 7, changes: [] },
      { cursor: 9, changes: [] },
      { cursor: 12, changes: [{ rollout_id: "a", kind: "activity" }] },
    ];
    const { sent, fetchFake } = fakeGateway(({ path }) => {
      if (path.endsWith("/calls")) {
        const failure = { attempt: "0", http_status: 503, timestamp: 4, code: "device_lost" };
        return { body: { calls: [], failures: [failure, { ...failure, attempt: "1" }] } };
      }
      return { body: answers.shift() };
    });
    const { client: http } = client(fetchFake);
    const cursor = await http.cursor();
    expect([cursor, http.reportsActivity]).toEqual([7, true]);
    expect(await http.watch(cursor, new AbortController().signal)).toEqual({
      cursor: 12,
      changes: [{ rolloutId: "a", kind: "activity" }],
    });
    expect(await http.failedCalls("a", "0")).toEqual([{ httpStatus: 503, timestamp: 4 }]);
    expect(sent.map(({ path }) => path)).toEqual([
      "/api/changes?after=-1&wait_seconds=0",
      "/api/changes?after=7&wait_seconds=20",
      "/api/changes?after=9&wait_seconds=20",
      "/api/rollouts/a/calls",
    ]);
  });

  it("stops waiting when it is told to", async () => {
    const { fetchFake } = fakeGateway(() => ({ body: { cursor: 0, changes: [] } }));
    const stop = new AbortController();
    const hanging = ((url: string, init: RequestInit) => {
      if (String(url).includes("after=-1")) return fetchFake(url, init);
      return new Promise((_, reject) => init.signal?.addEventListener("abort", () => reject(init.signal?.reason)));
    }) as typeof fetch;
    const { client: http } = client(hanging);
    const watched = http.watch(await http.cursor(), stop.signal);
    stop.abort();
    await expect(watched).rejects.toMatchObject({ code: "cancelled" });
  });

  it("does without what only Leyden's gateway tells", async () => {
    const { fetchFake } = fakeGateway(({ path }) => (path.startsWith("/api/rollouts?") ? { body: [] } : undefined));
    const { client: http } = client(fetchFake);
    expect([await http.cursor(), http.reportsActivity]).toEqual([0, false]);
    expect(await http.failedCalls("a", "0")).toEqual([]);
  });

  it("gives agents their address and key", async () => {
    const { fetchFake } = fakeGateway(() => undefined);
    const own = client(fetchFake, { dialects: "agl", agentUrl: "http://agents/" }).client;
    expect(await own.access(rollout("r"), "0")).toMatchObject({
      key: "k",
      openaiBaseUrl: "http://agents/proxy/rollout/r/attempt/0/mode/train/openai/v1",
      eventUrl: "http://agents/api/rollouts/r/attempt/0/events",
    });
    const { sent, fetchFake: leyden } = fakeGateway(() => ({ body: { key: "lrk-1" } }));
    expect(await client(leyden).client.access(rollout("a/b"), "0")).toMatchObject({ key: "lrk-1" });
    expect(sent.map(({ method, path }) => `${method} ${path}`)).toEqual(["POST /api/rollouts/a%2Fb/attempt/0/key"]);
    const scoped = client(fetchFake, { keyOf: async (id, attempt) => `only-${id}-${attempt}` }).client;
    expect(await scoped.access(rollout("r"), "0")).toMatchObject({
      key: "only-r-0",
      openaiBaseUrl: "http://gw:1/r/r/0/train/v1",
    });
  });
});
