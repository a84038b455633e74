import { describe, expect, it } from "vitest";
import { rollout } from "../samples.ts";
import { created, deleted, type OpenStore, patched, withStore } from "./store_events.ts";

/** The cursor over finished rollouts. */
export function terminalConformance(name: string, open: OpenStore): void {
  describe(`${name}: terminal cursor`, () => {
    it(
      "shows finished rollouts in order of finishing and moves past deleted ones",
      withStore(open, async (store) => {
        await store.append(["a", "b", "c", "d"].map(created));
        await store.append(["c", "a", "b"].map((id) => patched(id, { state: "running" })));
        await store.append([
          patched("c", { state: "succeeded" }),
          patched("a", { state: "failed" }),
          patched("b", { state: "succeeded" }),
        ]);
        const item = (id: string, state: string) => ({ rollout_id: id, state, data_id: `task-${id}`, is_train: true });
        expect(await store.terminal(0, 2)).toEqual({
          items: [item("c", "succeeded"), item("a", "failed")],
          next_after: 2,
          total_terminal: 3,
        });
        expect(await store.terminal(2, 2)).toEqual({
          items: [item("b", "succeeded")],
          next_after: 3,
          total_terminal: 3,
        });
        expect(await store.terminal(3, 2)).toEqual({ items: [], next_after: 3, total_terminal: 3 });
        expect(await store.terminal(9, 2)).toEqual({ items: [], next_after: 9, total_terminal: 3 });
        await store.append([deleted("c"), created("c")]);
        expect(await store.terminal(0, 1)).toEqual({ items: [], next_after: 1, total_terminal: 3 });
      }),
    );

    it(
      "names tasks by data_id, else instance_id, else nothing",
      withStore(open, async (store) => {
        const inputs: [unknown, string][] = [
          [{ data_id: 7, instance_id: "i" }, "7"],
          [{ instance_id: "i" }, "i"],
          [{ data_id: "", instance_id: "i" }, "i"],
          [{ data_id: 0 }, ""],
          [{}, ""],
          [[1], ""],
          [null, ""],
          ["text", ""],
        ];
        for (const [at, [input]] of inputs.entries()) {
          const id = `r${at}`;
          await store.append([
            { type: "rollout_created", rollout: rollout(id, { input }) },
            patched(id, { state: "failed" }),
          ]);
        }
        const { items } = await store.terminal(0, 10);
        expect(items.map((item) => item.data_id)).toEqual(inputs.map(([, dataId]) => dataId));
      }),
    );
  });
}
