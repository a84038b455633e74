import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { CallRecord, StoreEvent } from "../../../src/schema/store.ts";
import { call } from "../samples.ts";
import { created, type OpenStore, recorded, withStore } from "./store_events.ts";

/** Calls: exact round trip, parents, refusals, delivery, the event they make. */
export function callConformance(name: string, open: OpenStore): void {
  describe(`${name}: calls`, () => {
    it(
      "come back exactly, with and without parents",
      withStore(open, async (store) => {
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
      withStore(open, async (store) => {
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
      withStore(open, async (store) => {
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
      withStore(open, async (store) => {
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
      withStore(open, async (store) => {
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
}
