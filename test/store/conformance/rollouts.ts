import { describe, expect, it } from "vitest";
import type { Store } from "../../../src/schema/store.ts";
import type { StatusPatch } from "../../../src/schema/wire.ts";
import { call, rollout } from "../samples.ts";
import { created, deleted, type OpenStore, patched, posted, recorded, withStore } from "./store_events.ts";

/** Rollouts: created once, patched, listed, deleted with all they own. */
export function rolloutConformance(name: string, open: OpenStore): void {
  describe(`${name}: rollouts`, () => {
    it(
      "are created once: a second creation changes nothing and is not logged",
      withStore(open, async (store) => {
        expect(await store.append([created("a")])).toBe(1);
        const again = rollout("a", { input: "other" });
        expect(await store.append([{ type: "rollout_created", rollout: again }])).toBe(1);
        expect(await store.rollout("a")).toEqual(rollout("a"));
        expect(await store.rollout("b")).toBeNull();
      }),
    );

    it(
      "keep input, hidden, metadata and config exactly",
      withStore(open, async (store) => {
        const full = rollout("a", {
          input: { text: "x".repeat(500), nested: [null, { __proto__x: 1 }, "é\u0000\ud800"] },
          hidden: { answer: 42 },
          is_train: false,
          config: {
            timeout_seconds: 5,
            local: { agent_class: "m:C", env_map: { A: "input.a" } },
            k8s: null,
            reward: { source: "agent" },
          },
          metadata: { batch_idx: 3, sample_idx_in_batch: null, free: { key: [1] } },
        });
        await store.append([{ type: "rollout_created", rollout: full }, created("b")]);
        expect(JSON.stringify(await store.rollout("a"))).toBe(JSON.stringify(full));
        expect(await store.rollout("b")).not.toHaveProperty("hidden");
        await store.append([{ type: "rollout_created", rollout: rollout("null", { input: null, hidden: null }) }]);
        expect(await store.rollout("null")).toMatchObject({ input: null, hidden: null });
      }),
    );

    it(
      "are patched by the fields that are present",
      withStore(open, async (store) => {
        await store.append([created("a"), patched("a", { state: "running", last_attempt_id: "0" })]);
        expect((await store.rollout("a"))?.status).toEqual({
          state: "running",
          k8s_job_name: null,
          last_attempt_id: "0",
          error_message: null,
          version: 2,
          created_at: 1000,
          updated_at: 2000,
        });
        await store.append([patched("a", { last_attempt_id: null, error_message: undefined })]);
        expect((await store.rollout("a"))?.status).toMatchObject({ last_attempt_id: null, version: 3 });
        const seq = await store.seq();
        expect(await store.append([patched("a", {})])).toBe(seq);
        expect((await store.rollout("a"))?.status.version).toBe(3);
      }),
    );

    it(
      "refuse illegal transitions with the whole patch",
      withStore(open, async (store) => {
        await store.append([created("a")]);
        const refusals: [StatusPatch, string][] = [
          [{ state: "succeeded" }, "Rollout a: cannot transition queuing -> succeeded"],
          [{ state: "queuing", k8s_job_name: "j" }, "Rollout a: cannot transition queuing -> queuing"],
          [{ state: null }, "Rollout a: cannot transition queuing -> None"],
        ];
        for (const [patch, message] of refusals) {
          await expect(store.append([patched("a", patch)])).rejects.toMatchObject({
            code: "illegal_transition",
            message,
          });
        }
        expect(await store.rollout("a")).toEqual(rollout("a"));
        await store.append([patched("a", { state: "failed" }), patched("a", { error_message: "late" })]);
        await expect(store.append([patched("a", { state: "running" })])).rejects.toThrow("failed -> running");
        expect((await store.rollout("a"))?.status).toMatchObject({
          state: "failed",
          error_message: "late",
          version: 3,
        });
        await expect(store.append([patched("b", {})])).rejects.toMatchObject({
          code: "rollout_not_found",
          message: "Rollout not found: b",
        });
      }),
    );

    it(
      "are listed by state in order of creation, cut as a list slice is",
      withStore(open, async (store) => {
        await store.append(["c", "a", "b"].map(created));
        await store.append([patched("a", { state: "running" })]);
        const ids = async (query: Parameters<Store["rollouts"]>[0]) =>
          (await store.rollouts(query)).map((found) => found.rollout_id);
        expect(await ids(undefined)).toEqual(["c", "a", "b"]);
        expect(await ids({ states: ["running", "queuing"] })).toEqual(["c", "a", "b"]);
        expect(await ids({ states: ["queuing"] })).toEqual(["c", "b"]);
        expect(await ids({ states: ["succeeded"] })).toEqual([]);
        expect(await ids({ states: [] })).toEqual([]);
        expect(await ids({ limit: 2 })).toEqual(["c", "a"]);
        expect(await ids({ limit: 0 })).toEqual([]);
        expect(await ids({ limit: -1 })).toEqual(["c", "a"]);
        await store.append([deleted("c"), created("c")]);
        expect(await ids({})).toEqual(["a", "b", "c"]);
      }),
    );

    it(
      "go with everything they own when deleted, and may come again",
      withStore(open, async (store) => {
        const failure = {
          rolloutId: "a",
          attemptId: "0",
          code: "x",
          message: "m",
          httpStatus: 502,
          latencyMs: 1,
          retryCount: 5,
          timestamp: 1,
        };
        await store.append([
          created("a"),
          created("b"),
          posted("a", "reward", { value: 1 }, "once"),
          recorded(call("k", "a", [1], [2])),
          recorded(call("l", "b", [1], [2])),
          { type: "call_failed", failure },
        ]);
        expect(await store.failures("a")).toEqual([failure]);
        const seq = await store.append([deleted("a")]);
        expect(await store.append([deleted("a")])).toBe(seq);
        expect(await store.rollout("a")).toBeNull();
        for (const rest of [store.events("a", "0"), store.calls("a"), store.failures("a"), store.attempts("a")]) {
          expect(await rest).toEqual([]);
        }
        expect((await store.calls("b"))[0]).toEqual(call("l", "b", [1], [2]));
        await store.append([
          created("a"),
          posted("a", "reward", { value: 2 }, "once"),
          recorded(call("k", "a", [1], [2])),
        ]);
        expect((await store.events("a", "0")).map((found) => found.event_type)).toEqual(["reward", "model_request"]);
      }),
    );
  });
}
