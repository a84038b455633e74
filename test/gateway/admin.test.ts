/** Leyden's own routes for controllers and people: changes to wait for, and what was recorded of calls. */
import { beforeEach, describe, expect, it } from "vitest";
import { rolloutTree } from "../../src/rl/trie/rollout_tree.ts";
import { ManualClock, settle } from "../rollout/manual_clock.ts";
import { AppClient } from "./app_client.ts";

let clock: ManualClock;
let client: AppClient;
beforeEach(() => {
  clock = new ManualClock();
  client = new AppClient({}, { clock });
});

const changes = async (query: string) => await (await client.get(`/api/changes${query}`)).json();

describe("GET /api/changes", () => {
  it("says where things stand, then what happened since", async () => {
    await client.create("a");
    expect(await changes("")).toEqual({ cursor: 1, changes: [] });
    await client.create("b");
    await client.send("PATCH", "/api/rollouts/b", { status: { state: "running" } });
    await client.post("/api/rollouts/b/attempt/0/events", { event_type: "note" });
    await client.store.append([{ type: "experiment", name: "update", data: {}, at: 1 }]);
    await client.ask("b", "hi");
    await settle();
    await client.send("DELETE", "/api/rollouts/a");
    const change = (rollout_id: string, kind: string) => ({ rollout_id, kind });
    expect(await changes("?after=1")).toEqual({
      cursor: 8,
      changes: [
        change("b", "created"),
        change("b", "patched"),
        change("b", "activity"),
        change("b", "activity"),
        change("b", "activity"),
        change("a", "deleted"),
      ],
    });
    expect(await changes("?after=8")).toEqual({ cursor: 8, changes: [] });
  });

  it("waits for a change, for as long as it was told, at most a minute", async () => {
    const soon = changes("?after=0&wait_seconds=30");
    await settle();
    await client.create("a");
    expect(await soon).toEqual({ cursor: 1, changes: [{ rollout_id: "a", kind: "created" }] });
    const late = changes("?after=1&wait_seconds=500");
    await settle();
    await clock.advance(60_000);
    expect(await late).toEqual({ cursor: 1, changes: [] });
    const stop = new AbortController();
    const init = { signal: stop.signal, method: "GET" };
    const gone = client.send("GET", "/api/changes?after=1&wait_seconds=30", undefined, "admin", init);
    await settle();
    stop.abort();
    expect((await gone).status).toBe(200);
    expect(clock.waiting).toBe(0);
  });

  it("refuses a cursor that is none", async () => {
    expect((await client.get("/api/changes?after=x")).status).toBe(422);
  });
});

describe("GET /api/rollouts/{id}/calls", () => {
  it("lists calls and failures of all attempts", async () => {
    await client.create("a");
    await client.ask("a", "hi", { top_p: 0.5 });
    client.engine.contextLength = 3;
    client = new AppClient({}, { clock, store: client.store, engine: client.engine });
    await client.chat("a", { messages: [{ role: "user", content: "hi" }] }, "1");
    await settle();
    expect(await (await client.get("/api/rollouts/a/calls")).json()).toEqual({
      rollout: "a",
      calls: [
        {
          id: expect.stringMatching(/^[0-9a-f]{24}$/),
          attempt: "0",
          mode: "train",
          dialect: "chat_completions",
          policy: "m",
          own: true,
          endpoint: "engine",
          call_key: expect.stringMatching(/^[0-9a-f]{16}\.0$/),
          parent: null,
          prefix: 0,
          break: null,
          prompt_len: 19,
          reply_len: 3,
          finish_reason: "stop",
          overridden: { top_p: 0.5 },
          delivery: "delivered",
          latency_ms: 0,
          timestamp: 1000,
        },
      ],
      failures: [
        {
          attempt: "1",
          code: "context_length_exceeded",
          message: expect.any(String),
          http_status: 400,
          latency_ms: 0,
          retry_count: 0,
          timestamp: 1000,
        },
      ],
    });
    expect((await client.get("/api/rollouts/nobody/calls")).status).toBe(404);
  });
});

describe("GET /api/rollouts/{id}/tree", () => {
  it("is the prefix tree of all calls, for the admin alone", async () => {
    await client.create("a");
    const first = await client.ask("a", "hi");
    const again = [{ role: "user", content: "hi" }, first.choices[0]?.message, { role: "user", content: "more" }];
    await client.chat("a", { messages: again });
    await settle();
    const calls = await client.store.calls("a");
    const tree = await (await client.get("/api/rollouts/a/tree")).json();
    expect(tree).toEqual(JSON.parse(JSON.stringify(rolloutTree("a", calls))));
    expect(tree.calls.map((call: { parent: string | null }) => call.parent)).toEqual([null, calls[0]?.id]);
    expect((await client.get("/api/rollouts/nobody/tree")).status).toBe(404);
    expect((await client.send("GET", "/api/rollouts/a/tree", undefined, "a key of nobody")).status).toBe(401);
  });
});
