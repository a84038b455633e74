import { describe, expect, it } from "vitest";
import { newRollout } from "../../../src/schema/rollout.ts";
import type { SummaryQuery } from "../../../src/schema/rollout_summary.ts";
import type { Store, StoreEvent } from "../../../src/schema/store.ts";
import type { StatusPatch } from "../../../src/schema/wire.ts";
import { call, event } from "../samples.ts";
import { created, deleted, type OpenStore, patched, posted, recorded, withStore } from "./store_events.ts";

const ids = async (store: Store, query: Partial<SummaryQuery>): Promise<string[]> =>
  (await store.summaries({ limit: 100, ...query })).rows.map(({ id }) => id);

/** A rollout of a group with a task, and perhaps a reward, a break, an agent and an end. */
function story(
  id: string,
  o: {
    task?: string;
    group?: string;
    reward?: number;
    breaks?: number;
    agent?: string;
    end?: StatusPatch;
    val?: boolean;
  },
): StoreEvent[] {
  const metadata = { ...(o.task && { task: o.task }), ...(o.group && { group: o.group }) };
  const rollout = newRollout({ input: { data_id: `in-${id}` }, metadata, is_train: o.val !== true }, id, 1000);
  const request = { model: o.agent ?? "policy", messages: [] };
  return [
    { type: "rollout_created", rollout },
    patched(id, { state: "running", last_attempt_id: "0" }),
    recorded(call(`${id}-first`, id, [1, 2], [3, 4], { request })),
    ...Array.from({ length: o.breaks ?? 0 }, (_, i) =>
      recorded(call(`${id}-b${i}`, id, [9, i], [5], { request, breakReason: "edited" as const })),
    ),
    ...(o.reward === undefined ? [] : [posted(id, "reward", { value: o.reward })]),
    ...(o.end ? [patched(id, o.end)] : []),
  ];
}

const table: StoreEvent[] = [
  ...story("a", { task: "sum", group: "g0", reward: 1, end: { state: "succeeded" } }),
  ...story("b", {
    task: "sum",
    group: "g0",
    reward: 0,
    breaks: 2,
    end: { state: "failed", error_message: "Boom: 50%" },
  }),
  ...story("c", { task: "Diff", group: "g1", reward: 0.5, agent: "coder", end: { state: "succeeded" } }),
  ...story("d", { val: true, agent: "code" }),
];

/** Lines of tables: folded event by event, the same in every store. */
export function summaryConformance(name: string, open: OpenStore): void {
  describe(`${name}: summaries`, () => {
    it(
      "say of a rollout what its counting attempt did",
      withStore(open, async (store) => {
        await store.append(story("b", { task: "sum", group: "g0", reward: 0.25, breaks: 2 }));
        const page = await store.summaries({ limit: 10 });
        expect(page).toEqual({
          total: 1,
          agents: ["policy"],
          rows: [
            {
              id: "b",
              state: "running",
              mode: "train",
              task: "sum",
              group: "g0",
              attempt: "0",
              attempts: 1,
              agents: ["policy"],
              reward: 0.25,
              calls: 3,
              promptTokens: 6,
              sampledTokens: 4,
              breaks: 2,
              failures: 0,
              versions: [3, 3],
              error: null,
              createdAt: 1000,
              updatedAt: 2000,
            },
          ],
        });
      }),
    );

    it(
      "begin anew with a new attempt, and take no more of an earlier one",
      withStore(open, async (store) => {
        await store.append(story("a", { reward: 1, breaks: 1 }));
        await store.append([patched("a", { last_attempt_id: "1" })]);
        const of = async () => (await store.summaries({ limit: 1 })).rows[0];
        expect(await of()).toMatchObject({
          attempt: "1",
          attempts: 1,
          calls: 0,
          reward: null,
          breaks: 0,
          agents: [],
          versions: null,
        });
        await store.append([
          recorded(call("late", "a", [1], [2])),
          posted("a", "reward", { value: 7 }),
          recorded({ ...call("new", "a", [1], [2, 3]), attemptId: "1" }),
          { type: "event_posted", event: { ...event("a", "reward", { value: 0.5 }), attempt_id: "1" } },
        ]);
        expect(await of()).toMatchObject({ attempt: "1", attempts: 2, calls: 1, sampledTokens: 2, reward: 0.5 });
      }),
    );

    it(
      "count the attempt met last where no status names one",
      withStore(open, async (store) => {
        await store.append([
          created("a"),
          recorded(call("k0", "a", [1], [2])),
          recorded({ ...call("k1", "a", [1], [2]), attemptId: "1" }),
          recorded(call("k2", "a", [1], [2])),
          patched("a", { state: "running" }),
        ]);
        expect((await store.summaries({ limit: 1 })).rows[0]).toMatchObject({
          attempt: "1",
          attempts: 2,
          calls: 1,
          task: "task-a",
        });
      }),
    );

    it(
      "take rewards of calls together, and the rollout's own before them",
      withStore(open, async (store) => {
        const reward = async () => (await store.summaries({ limit: 1 })).rows[0]?.reward;
        await store.append([created("a"), posted("a", "reward", { value: 1, agent: "x" })]);
        expect(await reward()).toBeNull();
        await store.append([
          posted("a", "reward", { value: 0.5, call_id: "k" }),
          posted("a", "reward", { value: 0.25, call_id: "k" }),
          posted("a", "reward", { token_values: [1, 2], call_id: "l" }),
          posted("a", "reward", { token_values: [1, "x"], call_id: "l" }),
          posted("a", "claimed_reward", { value: 100 }),
        ]);
        expect(await reward()).toBe(1.75);
        await store.append([posted("a", "reward", { value: 9 })]);
        expect(await reward()).toBe(9);
        await store.append([posted("a", "reward", { value: "none" })]);
        expect(await reward()).toBe(9);
      }),
    );

    it(
      "are filtered by everything the table shows",
      withStore(open, async (store) => {
        await store.append(table);
        expect(await ids(store, {})).toEqual(["a", "b", "c", "d"]);
        expect(await ids(store, { states: ["succeeded"] })).toEqual(["a", "c"]);
        expect(await ids(store, { states: [] })).toEqual([]);
        expect(await ids(store, { mode: "val" })).toEqual(["d"]);
        expect(await ids(store, { agent: "code" })).toEqual(["d"]);
        expect(await ids(store, { task: "sum" })).toEqual(["a", "b"]);
        expect(await ids(store, { groups: ["g1", "g0"] })).toEqual(["a", "b", "c"]);
        expect(await ids(store, { groups: [] })).toEqual([]);
        expect(await ids(store, { ids: ["d", "b", "none"] })).toEqual(["b", "d"]);
        expect(await ids(store, { rewardMin: 0.5 })).toEqual(["a", "c"]);
        expect(await ids(store, { rewardMax: 0.5 })).toEqual(["b", "c"]);
        expect(await ids(store, { breaks: true })).toEqual(["b"]);
        expect(await ids(store, { breaks: false, rewardMin: 0 })).toEqual(["a", "c"]);
        expect(await ids(store, { text: "DIFF" })).toEqual(["c"]);
        expect(await ids(store, { text: "50%" })).toEqual(["b"]);
        expect(await ids(store, { text: "a_" })).toEqual([]);
        expect(await ids(store, { text: "" })).toHaveLength(4);
        expect((await store.summaries({ limit: 0, text: "nothing" })).agents).toEqual(["code", "coder", "policy"]);
      }),
    );

    it(
      "are sorted, equal ones in order of creation, missing rewards last, and cut",
      withStore(open, async (store) => {
        await store.append(table);
        expect(await ids(store, { descending: true })).toEqual(["d", "c", "b", "a"]);
        expect(await ids(store, { sort: "reward" })).toEqual(["b", "c", "a", "d"]);
        expect(await ids(store, { sort: "reward", descending: true })).toEqual(["a", "c", "b", "d"]);
        expect(await ids(store, { sort: "breaks", descending: true })).toEqual(["b", "a", "c", "d"]);
        expect(await ids(store, { sort: "task" })).toEqual(["c", "d", "a", "b"]);
        expect(await ids(store, { sort: "state" })).toEqual(["b", "d", "a", "c"]);
        const page = await store.summaries({ offset: 1, limit: 2, states: ["succeeded", "failed"] });
        expect([page.total, page.rows.map(({ id }) => id)]).toEqual([3, ["b", "c"]]);
      }),
    );

    it(
      "go with their rollout, and with what is taken back",
      withStore(open, async (store) => {
        await store.append(table);
        await expect(store.append([...story("e", {}), recorded(call("x", "nobody", [1], [2]))])).rejects.toMatchObject({
          code: "rollout_not_found",
        });
        await store.append([deleted("a")]);
        expect(await ids(store, {})).toEqual(["b", "c", "d"]);
        await store.append(story("a", {}));
        expect(await ids(store, {})).toEqual(["b", "c", "d", "a"]);
      }),
    );

    it(
      "leave notes of a name readable from any place on",
      withStore(open, async (store) => {
        const note = (name: string, data: unknown): StoreEvent => ({ type: "experiment", name, data, at: 1 });
        await store.append([created("a"), note("update", 1), note("other", 2), note("update", 3)]);
        expect((await store.notes("update")).map(({ data }) => data)).toEqual([1, 3]);
        expect((await store.notes("update", 2)).map(({ seq }) => seq)).toEqual([4]);
        expect(await store.notes("none")).toEqual([]);
      }),
    );
  });
}
