/**
 * What every store does. Plan: rollouts (create once, patch, delete, order, limits), the terminal cursor, events (order,
 * attempts, ids), calls (exact round trip, parents, refusals, delivery, the event they make), failures, the log
 * (gapless, no line for nothing), batches (all or nothing), waiting for changes, closing.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { CancelledError } from "../../src/core/errors.ts";
import type { CallRecord, Store, StoreEvent } from "../../src/schema/store.ts";
import type { StatusPatch } from "../../src/schema/wire.ts";
import { call, event, rollout } from "./samples.ts";

const created = (id: string): StoreEvent => ({ type: "rollout_created", rollout: rollout(id) });
const patched = (rolloutId: string, patch: StatusPatch): StoreEvent => ({
  type: "rollout_patched",
  rolloutId,
  patch,
  at: 2000,
});
const deleted = (rolloutId: string): StoreEvent => ({ type: "rollout_deleted", rolloutId, at: 3000 });
const posted = (rolloutId: string, type: string, data = {}, eventId?: string): StoreEvent => ({
  type: "event_posted",
  event: event(rolloutId, type, data),
  eventId,
});
const recorded = (record: CallRecord): StoreEvent => ({ type: "call_recorded", call: record });

/** Runs the suite against stores that `open` makes, each empty. */
export function storeConformance(name: string, open: () => Promise<Store>): void {
  const withStore = (body: (store: Store) => Promise<void>) => async () => {
    const store = await open();
    try {
      await body(store);
    } finally {
      await store.close();
    }
  };

  describe(`${name}: rollouts`, () => {
    it(
      "are created once: a second creation changes nothing and is not logged",
      withStore(async (store) => {
        expect(await store.append([created("a")])).toBe(1);
        const again = rollout("a", { input: "other" });
        expect(await store.append([{ type: "rollout_created", rollout: again }])).toBe(1);
        expect(await store.rollout("a")).toEqual(rollout("a"));
        expect(await store.rollout("b")).toBeNull();
      }),
    );

    it(
      "keep input, hidden, metadata and config exactly",
      withStore(async (store) => {
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
      withStore(async (store) => {
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
      withStore(async (store) => {
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
      withStore(async (store) => {
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
      withStore(async (store) => {
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

  describe(`${name}: terminal cursor`, () => {
    it(
      "shows finished rollouts in order of finishing and moves past deleted ones",
      withStore(async (store) => {
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
      withStore(async (store) => {
        const inputs: [unknown, string][] = [
          [{ data_id: 7, instance_id: "i" }, "7"],
          [{ instance_id: "i" }, "i"],
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

  describe(`${name}: events`, () => {
    it(
      "stand in order with calls, by attempt and type",
      withStore(async (store) => {
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
        await expect(store.append([posted("b", "note")])).rejects.toMatchObject({ code: "rollout_not_found" });
      }),
    );

    it(
      "with an id are added once per rollout",
      withStore(async (store) => {
        await store.append([created("a"), created("b")]);
        const seq = await store.append([posted("a", "reward", { value: 1 }, "e")]);
        expect(await store.append([posted("a", "reward", { value: 2 }, "e")])).toBe(seq);
        await store.append([posted("b", "reward", { value: 3 }, "e")]);
        expect((await store.events("a", "0")).map((found) => found.data)).toEqual([{ value: 1 }]);
        expect((await store.events("b", "0")).map((found) => found.data)).toEqual([{ value: 3 }]);
      }),
    );
  });

  describe(`${name}: calls`, () => {
    it(
      "come back exactly, with and without parents",
      withStore(async (store) => {
        const messages = [
          { role: "system", content: "s".repeat(300) },
          { role: "user", content: "question" },
        ];
        const first = call("k1", "a", [1, 2, 3], [4, 5], {
          request: {
            model: "m",
            messages,
            tools: [{ type: "function", function: { name: "f".repeat(250) } }],
            __proto: 1,
          },
          response: {
            prompt_token_ids: [1, 2, 3],
            choices: [{ token_ids: [4, 5], message: { content: "x" } }],
            usage: {},
          },
        });
        const second = call("k2", "a", [1, 2, 3, 4, 5, 6], [7], {
          parent: "k1",
          prefixLength: 5,
          request: {
            model: "m",
            messages: [...messages, { role: "assistant", content: "x" }, { role: "user", content: "y" }],
          },
        });
        const edited = call("k3", "a", [1, 2, 9], [], {
          breakReason: "edited",
          request: { model: "m", messages: [messages[0], { role: "user", content: "z" }], long: "v".repeat(400) },
          response: null,
          delivery: "abandoned",
          overridden: { top_p: 0.9 },
          truncated: true,
          tokens: {
            promptIds: Int32Array.of(1, 2, 9),
            replyIds: Int32Array.of(8, 8, 8),
            logprobs: new Float32Array(0),
            versions: Int32Array.of(1, 1, 2),
          },
        });
        await store.append([created("a"), ...[first, second, edited].map(recorded)]);
        const calls = await store.calls("a");
        expect(calls).toEqual([first, second, edited]);
        expect(JSON.stringify(calls.map((found) => [found.request, found.response]))).toBe(
          JSON.stringify([first, second, edited].map((kept) => [kept.request, kept.response])),
        );
        expect(await store.calls("a", "1")).toEqual([]);
      }),
    );

    it(
      "make the event a trainer reads, token ids and logprobs included",
      withStore(async (store) => {
        await store.append([created("a"), recorded(call("k", "a", [1, 2], [3, 4]))]);
        const [found] = await store.events("a", "0");
        expect(found).toMatchObject({
          event_type: "model_request",
          rollout_id: "a",
          attempt_id: "0",
          timestamp: 1002.25,
          data: {
            model: "policy",
            model_version: 3,
            http_status: 200,
            status: "ok",
            retry_count: 0,
            latency_ms: 12.5,
            usage: { prompt_tokens: 2, completion_tokens: 2 },
            finish_reason: "stop",
            response: {
              prompt_token_ids: [1, 2],
              choices: [
                {
                  token_ids: [3, 4],
                  logprobs: { content: [{ logprob: Math.fround(-0.1) }, { logprob: Math.fround(-0.2) }] },
                },
              ],
            },
          },
        });
      }),
    );

    it(
      "of a foreign model show its reply untouched",
      withStore(async (store) => {
        const response = { id: "x", choices: [{ token_ids: [3], logprobs: null }], prompt_token_ids: [1, 2] };
        const foreign = call("k", "a", [1, 2], [3], { own: false, response, httpStatus: 400 });
        await store.append([created("a"), recorded(foreign)]);
        const [found] = await store.events("a", "0");
        expect(JSON.stringify(found?.data.response)).toBe(JSON.stringify(response));
        expect(found?.data.status).toBe("error");
      }),
    );

    it(
      "are refused when they contradict what is stored",
      withStore(async (store) => {
        await store.append([created("a"), created("b"), recorded(call("k", "a", [1, 2], [3]))]);
        const seq = await store.seq();
        const refusals: [CallRecord, string, string][] = [
          [call("k", "a", [1], [2]), "duplicate_call", "Call k is recorded already. Give each call its own id."],
          [call("n", "c", [1], [2]), "rollout_not_found", "Rollout not found: c"],
          [
            call("n", "b", [1, 2, 3], [2], { parent: "k", prefixLength: 3 }),
            "call_not_found",
            "Call n names the parent k, which attempt 0 of rollout b does not have. Name a recorded call of the same attempt, or no parent.",
          ],
          [
            call("n", "a", [1, 2, 4], [2], { parent: "k", prefixLength: 3 }),
            "parent_mismatch",
            "Call n says it shares 3 ids with call k but shares 2. Continue a call's prompt and reply ids verbatim, or record no parent.",
          ],
          [
            call("n", "a", [1], [2], { tokens: { ...call("n", "a", [1], [2]).tokens, logprobs: new Float32Array(2) } }),
            "call_malformed",
            "Call n has 1 reply ids, 2 logprobs and 1 versions. Record one logprob and one version per reply id.",
          ],
        ];
        for (const [bad, code, message] of refusals) {
          await expect(store.append([recorded(bad)])).rejects.toMatchObject({ code, message });
        }
        expect(await store.seq()).toBe(seq);
        expect(await store.calls("a")).toHaveLength(1);
      }),
    );

    it(
      "are marked delivered or abandoned",
      withStore(async (store) => {
        await store.append([created("a"), recorded(call("k", "a", [1], [2]))]);
        const mark = (delivery: "delivered" | "abandoned"): StoreEvent => ({
          type: "call_delivery",
          callId: "k",
          delivery,
          at: 5,
        });
        const seq = await store.append([mark("delivered")]);
        expect((await store.calls("a"))[0]?.delivery).toBe("delivered");
        expect(await store.append([mark("delivered")])).toBe(seq);
        await store.append([mark("abandoned")]);
        expect((await store.events("a", "0"))[0]?.data.delivery).toBe("abandoned");
        await expect(store.append([{ ...mark("delivered"), callId: "zz" } as StoreEvent])).rejects.toMatchObject({
          code: "call_not_found",
        });
      }),
    );

    it("of random conversations come back exactly", async () => {
      const turn = fc.record({
        from: fc.nat({ max: 8 }),
        added: fc.array(fc.integer({ min: 0, max: 5 }), { maxLength: 4 }),
        reply: fc.array(fc.integer({ min: 0, max: 5 }), { maxLength: 4 }),
        text: fc.string({ unit: "binary", maxLength: 300 }),
        asRoot: fc.boolean(),
      });
      await fc.assert(
        fc.asyncProperty(fc.array(turn, { minLength: 1, maxLength: 9 }), async (turns) => {
          const store = await open();
          const calls: CallRecord[] = [];
          for (const [at, { from, added, reply, text, asRoot }] of turns.entries()) {
            const base = asRoot ? undefined : calls[from];
            const before = base ? [...base.tokens.promptIds, ...base.tokens.replyIds] : [];
            const messages = [...((base?.request.messages as unknown[]) ?? []), { role: "user", content: text }];
            const parent = base ? { parent: base.id, prefixLength: before.length } : {};
            calls.push(call(`k${at}`, "a", [...before, ...added], reply, { request: { messages, text }, ...parent }));
          }
          await store.append([created("a"), ...calls.map(recorded)]);
          expect(await store.calls("a")).toEqual(calls);
          await store.close();
        }),
        { numRuns: 30 },
      );
    });
  });

  describe(`${name}: log and batches`, () => {
    it(
      "numbers without gaps and keeps what the experiment noted",
      withStore(async (store) => {
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
      "writes a batch whole or not at all, whatever it holds",
      withStore(async (store) => {
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
      withStore(async (store) => {
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
      withStore(async (store) => {
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

  describe(`${name}: waiting and closing`, () => {
    it(
      "wakes those who wait for a change, and lets them give up",
      withStore(async (store) => {
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
