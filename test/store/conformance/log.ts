import { describe, expect, it } from "vitest";
import type { StoreEvent } from "../../../src/schema/store.ts";
import { call, rollout } from "../samples.ts";
import { created, deleted, type OpenStore, patched, posted, recorded, withStore } from "./store_events.ts";

/** The log has no gap and no line for nothing; a batch is written whole or not at all. */
export function logConformance(name: string, open: OpenStore): void {
  describe(`${name}: log and batches`, () => {
    it(
      "numbers without gaps and keeps what the experiment noted",
      withStore(open, async (store) => {
        await store.append([created("a"), recorded(call("k", "a", [1], [2]))]);
        await store.append([{ type: "call_delivery", callId: "k", delivery: "delivered", at: 7 }]);
        await store.append([
          { type: "experiment", name: "group_trained", data: { group: "g", step: 1 }, at: 8 },
          deleted("a"),
        ]);
        expect(await store.log(0, 100)).toEqual([
          { seq: 1, type: "rollout_created", rolloutId: "a", at: 1000 },
          { seq: 2, type: "call_recorded", rolloutId: "a", at: 1002.25, name: "k" },
          { seq: 3, type: "call_delivery", rolloutId: "a", at: 7, name: "k", data: "delivered" },
          { seq: 4, type: "experiment", rolloutId: "", at: 8, name: "group_trained", data: { group: "g", step: 1 } },
          { seq: 5, type: "rollout_deleted", rolloutId: "a", at: 3000 },
        ]);
        expect((await store.log(3, 1)).map((entry) => entry.seq)).toEqual([4]);
        expect(await store.log(5, 10)).toEqual([]);
      }),
    );

    it(
      "finds the last note of a name, whatever was written since",
      withStore(open, async (store) => {
        const note = (name: string, data: unknown): StoreEvent => ({ type: "experiment", name, data, at: 8 });
        await store.append([note("x", { n: 1 }), note("y", null), note("x", { n: 2 }), created("a"), note("y", [3])]);
        const x = { seq: 3, type: "experiment", rolloutId: "", at: 8, name: "x", data: { n: 2 } };
        expect(await store.noted("x")).toEqual(x);
        expect((await store.noted("y"))?.data).toEqual([3]);
        expect(await store.noted("z")).toBeNull();
      }),
    );

    it(
      "writes a batch whole or not at all, whatever it holds",
      withStore(open, async (store) => {
        await store.append([
          created("a"),
          created("b"),
          patched("b", { state: "failed" }),
          posted("a", "note", {}, "e"),
          recorded(call("k", "a", [1, 2], [3])),
        ]);
        const look = async () => ({
          seq: await store.seq(),
          log: await store.log(0, 100),
          rollouts: await store.rollouts(),
          terminal: await store.terminal(0, 9),
          events: await store.events("a", "0"),
          failures: await store.failures("a"),
        });
        const before = await look();
        const bad: StoreEvent[] = [
          created("c"),
          patched("a", { state: "failed" }),
          posted("a", "note", {}, "f"),
          recorded(
            call("l", "a", [1, 2, 3], [4], { parent: "k", prefixLength: 3, request: { text: "t".repeat(300) } }),
          ),
          { type: "call_delivery", callId: "k", delivery: "delivered", at: 1 },
          {
            type: "call_failed",
            failure: {
              rolloutId: "a",
              attemptId: "0",
              code: "x",
              message: "",
              httpStatus: 502,
              latencyMs: 0,
              retryCount: 0,
              timestamp: 0,
            },
          },
          deleted("a"),
          deleted("b"),
          patched("c", { state: "succeeded" }),
        ];
        await expect(store.append(bad)).rejects.toMatchObject({ code: "illegal_transition" });
        expect(await look()).toEqual(before);
        await store.append(bad.slice(0, 5));
        expect(await store.calls("a")).toHaveLength(2);
        expect((await store.rollouts()).map((found) => found.rollout_id)).toEqual(["a", "b", "c"]);
      }),
    );

    it(
      "a refused batch does not disturb others of the same tick",
      withStore(open, async (store) => {
        const results = await Promise.allSettled([
          store.append([created("a")]),
          store.append([created("b"), patched("b", { state: "succeeded" })]),
          store.append([created("c")]),
          store.append([patched("a", { state: "running" })]),
          store.append([patched("a", { state: "running" })]),
        ]);
        expect(results.map((result) => result.status)).toEqual([
          "fulfilled",
          "rejected",
          "fulfilled",
          "fulfilled",
          "rejected",
        ]);
        expect((await store.rollouts()).map((found) => found.rollout_id)).toEqual(["a", "c"]);
        expect((await store.log(0, 9)).map((entry) => entry.seq)).toEqual([1, 2, 3]);
      }),
    );

    it(
      "what goes in and comes out is not shared with the caller",
      withStore(open, async (store) => {
        const mine = rollout("a", { input: { list: [1] } });
        const record = call("k", "a", [1], [2]);
        await store.append([
          { type: "rollout_created", rollout: mine },
          recorded(record),
          posted("a", "note", { n: [1] }),
        ]);
        (mine.input as { list: number[] }).list.push(2);
        record.tokens.replyIds[0] = 99;
        const out = await store.rollout("a");
        (out as { input: { list: number[] } }).input.list.push(3);
        const [kept] = await store.calls("a");
        if (kept) kept.tokens.promptIds[0] = 77;
        expect((await store.rollout("a"))?.input).toEqual({ list: [1] });
        expect((await store.calls("a"))[0]?.tokens.replyIds).toEqual(Int32Array.of(2));
        expect((await store.calls("a"))[0]?.tokens.promptIds).toEqual(Int32Array.of(1));
      }),
    );
  });
}
