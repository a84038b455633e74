/** What lessons read of a run: trained groups in the order of their updates, every token with its text. */
import { describe, expect, it } from "vitest";
import { createApp, type GatewayApp } from "../../gateway/app.ts";
import { lessonGroupsSchema } from "../../src/schema/lesson.ts";
import type { StoreEvent } from "../../src/schema/store.ts";
import { MemoryStore } from "../../src/store/memory_store.ts";
import { stillClock } from "../runtime/still_clock.ts";
import { call, event, rollout } from "../store/samples.ts";
import { FakeEngine, fakeModel } from "./fake_model.ts";

const entropy = { bytes: (n: number) => new Uint8Array(n) };

const member = (id: string, group: string, state: "succeeded" | "failed", error: string | null = null) => {
  const made = rollout(id, { input: { question: "q" }, hidden: { answer: "3" } });
  const status = { ...made.status, state, last_attempt_id: "0", error_message: error };
  return { ...made, metadata: { ...made.metadata, group }, status };
};

const noted = (update: number, groups: string[]): StoreEvent => ({
  type: "experiment",
  name: "update",
  data: { update, version: update, groups },
  at: 1000 + update,
});

async function appWith(events: StoreEvent[], withModel = true): Promise<GatewayApp> {
  const store = new MemoryStore();
  await store.append(events);
  const model = withModel ? fakeModel(new FakeEngine()) : null;
  return createApp({ store, model, clock: stillClock, entropy, config: { key: "k" } });
}

async function read(app: GatewayApp, query = ""): Promise<ReturnType<typeof lessonGroupsSchema.parse>> {
  const response = await app.request(`/lesson/api/groups${query}`, { headers: { authorization: "Bearer k" } });
  expect(response.status).toBe(200);
  return lessonGroupsSchema.parse(await response.json());
}

const model = fakeModel(new FakeEngine());
const stop = model.codec.stopIds[0] as number;
const ids = (text: string): number[] => Array.from(model.codec.encodeText(text, true) as Int32Array);

const created = (...rollouts: ReturnType<typeof member>[]): StoreEvent[] =>
  rollouts.map((one) => ({ type: "rollout_created", rollout: one }));

describe("the groups of a lesson", () => {
  it("come in the order of updates, with rollouts by name and the last reward of each", async () => {
    const app = await appWith([
      ...created(
        member("b-s1", "b", "succeeded"),
        member("b-s0", "b", "failed", "timed out after 9 s"),
        member("a-s0", "a", "failed"),
      ),
      { type: "event_posted", event: event("b-s1", "reward", { value: 0.25 }) },
      { type: "event_posted", event: event("b-s1", "reward", { value: 1 }) },
      { type: "event_posted", event: event("b-s0", "reward", { value: "much" }) },
      noted(1, ["b"]),
      noted(2, ["gone"]),
      noted(2, ["a"]),
    ]);
    const groups = await read(app);
    expect(groups.map(({ id, update }) => [id, update])).toEqual([
      ["b", 1],
      ["a", 2],
    ]);
    expect(groups[0]?.rollouts.map(({ id, status, reward }) => [id, status, reward])).toEqual([
      ["b-s0", "timed_out", null],
      ["b-s1", "succeeded", 1],
    ]);
    expect(groups[0]?.rollouts[1]).toMatchObject({ input: { question: "q" }, hidden: { answer: "3" }, attempt: "0" });
    expect((await read(app, "?updates=1")).map(({ id }) => id)).toEqual(["b"]);
  });

  it("show each call's tokens as text, and the ids of that text when it is encoded again", async () => {
    const reply = ids("ok");
    const app = await appWith([
      ...created(member("a-s0", "a", "succeeded")),
      { type: "call_recorded", call: call("c1", "a-s0", [1, 2], [...reply, stop]) },
      { type: "call_recorded", call: call("c2", "a-s0", [1, 2], reply, { breakReason: "edited" }) },
      { type: "call_recorded", call: call("c3", "a-s0", [1], [stop], { parent: "c1", prefixLength: 1 }) },
      { type: "call_recorded", call: call("c4", "a-s0", [1], reply, { own: false }) },
      noted(1, ["a"]),
    ]);
    const [group] = await read(app);
    const calls = group?.rollouts[0]?.calls ?? [];
    expect(
      calls.map(({ id, text, stopped, breakReason, parent }) => ({ id, text, stopped, breakReason, parent })),
    ).toEqual([
      { id: "c1", text: "ok", stopped: true, breakReason: null, parent: null },
      { id: "c2", text: "ok", stopped: false, breakReason: "edited", parent: null },
      { id: "c3", text: "", stopped: true, breakReason: null, parent: "c1" },
    ]);
    expect(calls[0]?.encodedIds).toEqual(reply);
    expect(calls[2]?.encodedIds).toEqual([]);
    expect(calls[0]?.tokens).toHaveLength(reply.length + 1);
    expect(calls[0]?.logprobs).toHaveLength(reply.length + 1);
  });

  it("take the admin's key, and a model whose tokens are text", async () => {
    const app = await appWith([]);
    expect((await app.request("/lesson/api/groups")).status).toBe(401);
    expect(await read(app)).toEqual([]);
    const bare = await appWith([], false);
    const response = await bare.request("/lesson/api/groups", { headers: { authorization: "Bearer k" } });
    expect(response.status).toBe(404);
    expect(await response.json()).toEqual({ detail: "No model is served here, so its tokens have no text" });
  });
});
