/** Agent Lightning's own endpoint tests, 1 to 14 in their order. */
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type Client, read } from "../served_process.ts";
import type { StubUpstream } from "./stub_upstream.ts";
import type { World } from "./world.ts";

export function inventorySuite(world: () => World): void {
  let client: Client;
  let fresh: Client;
  let upstream: StubUpstream;
  let url: string;
  beforeAll(() => {
    ({ client, fresh, upstream } = world());
    url = client.url;
  });
  beforeEach(() => {
    upstream.calls.length = 0;
  });

  const state = (word: string) => ({ status: { state: word } });

  describe("tests/server/test_endpoints.py", () => {
    it("1 healthz", async () => {
      expect(await read(fetch(`${url}/healthz`))).toEqual({ status: 200, body: { status: "ok" } });
    });

    it("2 auth required", async () => {
      expect((await client.post("/api/rollouts", [], { authorization: "" })).status).toBe(401);
    });

    it("3 rollout endpoints", async () => {
      const create = [{ rollout_id: "t3", input: { question: "?" }, metadata: { batch_idx: 1, note: "x" } }];
      const created = await read(client.post("/api/rollouts", create));
      expect(created.status).toBe(201);
      expect(created.body).toMatchObject([
        {
          rollout_id: "t3",
          input: { question: "?" },
          metadata: { batch_idx: 1, sample_idx_in_batch: null, note: "x" },
          status: { state: "queuing" },
        },
      ]);
      expect(await read(client.get("/api/rollouts/t3"))).toMatchObject({ status: 200, body: { attempts: [] } });
      const patched = await read(
        client.patch("/api/rollouts/t3", { status: { state: "running", k8s_job_name: "job" } }),
      );
      expect(patched).toMatchObject({ status: 200, body: { status: { state: "running", k8s_job_name: "job" } } });
      expect((await client.patch("/api/rollouts/t3", state("queuing"))).status).toBe(409);
      expect((await client.patch("/api/rollouts/t3", state("cancelled"))).status).toBe(422);
      expect((await client.patch("/api/rollouts/t3", { status: { unknown: 1 } })).status).toBe(422);
    });

    it("4 list by state", async () => {
      await fresh.create("a", "b");
      await fresh.patch("/api/rollouts/b", state("running"));
      const ids = async (query: string) => {
        const rollouts = (await (await fresh.get(`/api/rollouts?${query}`)).json()) as { rollout_id: string }[];
        return rollouts.map((rollout) => rollout.rollout_id);
      };
      expect(await ids("state_in=queuing&state_in=running")).toEqual(["a", "b"]);
      expect(await ids("state_in=running")).toEqual(["b"]);
    });

    it("5 events", async () => {
      await client.create("t5");
      const path = "/api/rollouts/t5/attempt/0/events";
      const posted = await client.post(path, { event_type: "reward", data: { value: 0.7, extra: "kept" } });
      expect(posted.status).toBe(200);
      const events = await client.events("t5", "?event_type=reward&format=triplet");
      expect(events.map((event) => event.data)).toEqual([{ value: 0.7 }]);
      expect(await read(client.get("/api/rollouts/t5"))).toMatchObject({ body: { attempts: ["0"] } });
    });

    it("6 delete", async () => {
      await client.create("t6");
      expect((await client.delete("/api/rollouts/t6")).status).toBe(204);
      expect((await client.get("/api/rollouts/t6")).status).toBe(404);
      expect((await client.get("/api/rollouts/t6/events")).status).toBe(404);
      expect((await client.delete("/api/rollouts/t6")).status).toBe(204);
    });

    it("7 a client's id is idempotent", async () => {
      await client.post("/api/rollouts", [{ rollout_id: "t7", input: { n: 1 } }]);
      await client.post("/api/rollouts/t7/attempt/0/events", { event_type: "note" });
      const again = await read(client.post("/api/rollouts", [{ rollout_id: "t7", input: { n: 2 } }]));
      expect(again).toMatchObject({ status: 201, body: [{ rollout_id: "t7", input: { n: 1 } }] });
      expect(await client.events("t7")).toHaveLength(1);
    });

    it("8 enqueueing a running rollout again keeps its state and events", async () => {
      await client.create("t8");
      await client.patch("/api/rollouts/t8", state("running"));
      await client.post("/api/rollouts/t8/attempt/0/events", { event_type: "note" });
      const again = await read(client.post("/api/rollouts", [{ rollout_id: "t8", input: {} }]));
      expect(again.body).toMatchObject([{ status: { state: "running" } }]);
      expect(await client.events("t8")).toHaveLength(1);
    });

    it("9 triplets keep the last call of each prompt", async () => {
      await client.create("t9");
      const post = (event_type: string, data: unknown) =>
        client.post("/api/rollouts/t9/attempt/0/events", { event_type, data });
      const call = (prompt: number[], reply: number[]) =>
        post("model_request", { response: { prompt_token_ids: prompt, choices: [{ token_ids: reply }] }, server: {} });
      await call([1, 2], [10]);
      await post("reward", { value: 1 });
      await call([3, 4], [20]);
      await call([1, 2], [30]);
      const raw = await client.events("t9", "?event_type=model_request");
      const replies = raw.map(
        (event) => (event.data.response as { choices: { token_ids: number[] }[] }).choices[0]?.token_ids,
      );
      expect(replies).toEqual([[10], [20], [30]]);
      const short = await client.events("t9", "?format=triplet");
      expect(short.map((event) => event.event_type)).toEqual(["reward", "model_request", "model_request"]);
      expect(short.slice(1).map(({ data }) => [data.prompt_token_ids, data.response_token_ids])).toEqual([
        [[3, 4], [20]],
        [[1, 2], [30]],
      ]);
    });

    it("10 models", async () => {
      const models = [{ model: "test-model", endpoint: "http://model.test/v1" }];
      expect(await read(client.post("/api/models", models))).toEqual({
        status: 201,
        body: [{ model: "test-model", endpoint: "http://model.test/v1", version: 0 }],
      });
      expect(await read(client.delete("/api/models"))).toEqual({ status: 200, body: { status: "ok" } });
    });

    it("11 proxy", async () => {
      await client.create("t11");
      await client.post("/api/models", [{ model: "test-model", endpoint: upstream.endpoint }]);
      const answer = { choices: [{ message: { content: "hi" }, token_ids: [2] }], prompt_token_ids: [1] };
      upstream.reply = () => ({ json: answer });
      const body = { model: "agents-own", messages: [], temperature: 0.3 };
      expect(await read(client.post(client.proxy("t11"), body))).toEqual({ status: 200, body: answer });
      expect(upstream.calls[0]?.path).toBe("/v1/chat/completions");
      expect(upstream.calls[0]?.body).toMatchObject({ model: "test-model", temperature: 1, return_token_ids: true });
      expect(await client.triplets("t11")).toMatchObject([{ prompt_token_ids: [1], response_token_ids: [2] }]);
    });

    it("12 proxy error", async () => {
      await client.create("t12");
      const error = { message: "too long", code: 400 };
      upstream.reply = () => ({ status: 400, json: { error } });
      expect((await client.post(client.proxy("t12"), { messages: [] })).status).toBe(400);
      expect(await client.triplets("t12")).toEqual([
        {
          prompt_token_ids: [],
          response_token_ids: [],
          response_log_probs: null,
          server: { model: "test-model", version: 0 },
          http_status: 400,
          status: "error",
          error,
        },
      ]);
    });

    it("13 pause and resume", async () => {
      const pause = await read(client.post("/proxy/pause", { retry_after_seconds: 9, reason: "update" }));
      expect(pause).toMatchObject({ status: 200, body: { paused: true, retry_after_seconds: 9 } });
      expect((await read(client.get("/proxy/state"))).body).toMatchObject({ paused: true, reason: "update" });
      expect((await read(client.post("/proxy/resume"))).body).toMatchObject({ paused: false, reason: null });
    });

    it("14 terminal cursor", async () => {
      await fresh.create("a", "b", "c", "pending");
      await fresh.post("/api/rollouts", [{ rollout_id: "v", input: { instance_id: "i" }, is_train: false }]);
      for (const id of ["a", "b", "v"]) await fresh.patch(`/api/rollouts/${id}`, state("running"));
      await fresh.patch("/api/rollouts/b", state("succeeded"));
      await fresh.patch("/api/rollouts/v", state("failed"));
      await fresh.patch("/api/rollouts/a", state("succeeded"));
      const page = async (query: string) => (await read(fresh.get(`/api/rollouts/terminal?${query}`))).body;
      expect(await page("limit=2")).toEqual({
        items: [
          { rollout_id: "b", state: "succeeded", data_id: "b", is_train: true },
          { rollout_id: "v", state: "failed", data_id: "i", is_train: false },
        ],
        next_after: 2,
        total_terminal: 3,
      });
      expect(await page("after=2&limit=2")).toEqual({
        items: [{ rollout_id: "a", state: "succeeded", data_id: "a", is_train: true }],
        next_after: 3,
        total_terminal: 3,
      });
      expect(await page("after=3")).toEqual({ items: [], next_after: 3, total_terminal: 3 });
    });
  });
}
