import { describe, expect, it } from "vitest";
import { call, event } from "../samples.ts";
import { created, type OpenStore, posted, recorded, withStore } from "./store_events.ts";

/** Events: order, attempts, types, ids. */
export function eventConformance(name: string, open: OpenStore): void {
  describe(`${name}: events`, () => {
    it(
      "stand in order with calls, by attempt and type",
      withStore(open, async (store) => {
        await store.append([
          created("a"),
          posted("a", "note", { n: 1 }),
          recorded(call("k", "a", [1], [2])),
          { type: "event_posted", event: { ...event("a", "note", { n: 2 }), attempt_id: "1" } },
          posted("a", "reward", { value: 0.5 }),
        ]);
        expect(await store.attempts("a")).toEqual(["0", "1"]);
        const types = (await store.events("a", "0")).map((found) => found.event_type);
        expect(types).toEqual(["note", "model_request", "reward"]);
        expect(await store.events("a", "0", "reward")).toEqual([event("a", "reward", { value: 0.5 })]);
        expect(await store.events("a", "0", "model_request")).toHaveLength(1);
        expect(await store.events("a", "1")).toHaveLength(1);
        expect(await store.events("b", "0")).toEqual([]);
        const allPosted = await store.posted("a");
        expect(allPosted.map(({ event_type, attempt_id }) => [event_type, attempt_id])).toEqual([
          ["note", "0"],
          ["note", "1"],
          ["reward", "0"],
        ]);
        expect(await store.posted("b")).toEqual([]);
        await expect(store.append([posted("b", "note")])).rejects.toMatchObject({ code: "rollout_not_found" });
      }),
    );

    it(
      "with an id are added once per rollout",
      withStore(open, async (store) => {
        await store.append([created("a"), created("b")]);
        const seq = await store.append([posted("a", "reward", { value: 1 }, "e")]);
        expect(await store.append([posted("a", "reward", { value: 2 }, "e")])).toBe(seq);
        await store.append([posted("b", "reward", { value: 3 }, "e")]);
        expect((await store.events("a", "0")).map((found) => found.data)).toEqual([{ value: 1 }]);
        expect((await store.events("b", "0")).map((found) => found.data)).toEqual([{ value: 3 }]);
      }),
    );
  });
}
