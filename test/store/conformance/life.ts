import { describe, expect, it } from "vitest";
import { CancelledError } from "../../../src/core/errors.ts";
import { created, type OpenStore, withStore } from "./store_events.ts";

/** Waiting for changes, and closing. */
export function lifeConformance(name: string, open: OpenStore): void {
  describe(`${name}: waiting and closing`, () => {
    it(
      "wakes those who wait for a change, and lets them give up",
      withStore(open, async (store) => {
        await store.append([created("a")]);
        expect(await store.changed(0)).toBe(1);
        const next = store.changed(1);
        const stop = new AbortController();
        const given = store.changed(1, stop.signal);
        stop.abort();
        await expect(given).rejects.toThrow(CancelledError);
        await expect(store.changed(5, AbortSignal.abort())).rejects.toThrow(CancelledError);
        await store.append([created("a")]);
        await store.append([created("b")]);
        expect(await next).toBe(2);
      }),
    );

    it("refuses everything once closed, and ends what waits", async () => {
      const store = await open();
      const waiting = expect(store.changed(0)).rejects.toMatchObject({ code: "store_closed" });
      await store.close();
      await store.close();
      await waiting;
      await expect(store.append([created("a")])).rejects.toMatchObject({
        code: "store_closed",
        message: "The store is closed. Open it again.",
      });
      await expect(store.rollouts()).rejects.toMatchObject({ code: "store_closed" });
    });
  });
}
