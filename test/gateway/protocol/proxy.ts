/**
 * Agent Lightning's model proxy over HTTP: what was seen upstream. Plan: order of checks, rewriting, forwarding,
 * retries, bodies of other kinds, events, completions, choice of the endpoint.
 */
import { createHash } from "node:crypto";
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type Client, read } from "../served_process.ts";
import { completion, StubUpstream, type UpstreamReply } from "./stub_upstream.ts";
import type { World } from "./world.ts";

export function proxySuite(world: () => World): void {
  let client: Client;
  let upstream: StubUpstream;
  beforeAll(() => {
    ({ client, upstream } = world());
  });
  beforeEach(async () => {
    upstream.calls.length = 0;
    upstream.reply = () => ({ json: completion([1, 2], [3]) });
    await client.delete("/api/models");
    await register();
  });

  const register = () => client.post("/api/models", [{ model: "test-model", endpoint: upstream.endpoint }]);
  const inflight = async () => ((await read(client.get("/proxy/state"))).body as { inflight: number }).inflight;
  const replies = (...list: UpstreamReply[]) => {
    let next = 0;
    upstream.reply = () => list[Math.min(next++, list.length - 1)] as UpstreamReply;
  };

  describe("order of checks", () => {
    const post = (path: string, body: unknown = {}) => read(client.post(path, body));
    const detail = (status: number, text: string) => ({ status, body: { detail: text } });

    it("mode, path, rollout, body, model, pause, stream", async () => {
      const nobody = (mode: string, path: string) => `/proxy/rollout/nobody/attempt/0/mode/${mode}/openai/v1/${path}`;
      expect(await post(nobody("test", "embeddings"))).toEqual(detail(404, "Unsupported proxy mode: test"));
      expect(await post(nobody("train", "embeddings"))).toEqual(detail(404, "Unsupported upstream path: embeddings"));
      expect(await post(nobody("train", "a/b/c"))).toEqual(detail(404, "Unsupported upstream path: a/b/c"));
      expect(await post(nobody("val", "chat/completions"), "{")).toEqual(detail(404, "Rollout not found: nobody"));
      await client.create("o1");
      await client.delete("/api/models");
      await client.post("/proxy/pause", {});
      expect(await post(client.proxy("o1"), "{")).toEqual(detail(400, "Invalid JSON in request body"));
      expect(await post(client.proxy("o1"), { stream: true })).toEqual(
        detail(503, "No servers available for model 'test-model'"),
      );
      await client.post("/api/models", [{ model: "another", endpoint: upstream.endpoint }]);
      expect((await post(client.proxy("o1"))).status).toBe(503);
      await register();
      expect((await post(client.proxy("o1"), { stream: true })).status).toBe(429);
      await client.post("/proxy/resume");
      expect(await post(client.proxy("o1"), { stream: true })).toEqual(
        detail(400, "Streaming responses are not supported"),
      );
      expect(await inflight()).toBe(0);
      expect(upstream.calls).toHaveLength(0);
      expect(await client.events("o1")).toEqual([]);
    });

    it("a body that is no object is refused, an empty one is {}", async () => {
      await client.create("o2");
      for (const body of ["[]", "5", "null", '"text"']) {
        expect(await post(client.proxy("o2"), body)).toEqual(detail(400, "The request body must be a JSON object."));
      }
      expect((await client.send("POST", client.proxy("o2"))).status).toBe(200);
      expect(upstream.calls[0]?.body).toEqual({
        model: "test-model",
        temperature: 1,
        return_token_ids: true,
        logprobs: true,
      });
    });

    it("a finished rollout may still call", async () => {
      await client.create("o3");
      await client.patch("/api/rollouts/o3", { status: { state: "failed" } });
      expect((await client.post(client.proxy("o3"), {})).status).toBe(200);
    });
  });

  describe("rewriting and forwarding", () => {
    it("sets four fields in train mode, three in val mode, and passes the rest in its order", async () => {
      await client.create("w1");
      const body = {
        top_p: 0.5,
        model: "mine",
        messages: [{ role: "user", content: "é" }],
        temperature: 9,
        n: 2,
        logprobs: false,
      };
      await client.post(client.proxy("w1"), body);
      await client.post(client.proxy("w1", "chat/completions", "val"), body);
      const fixed = { ...body, model: "test-model", return_token_ids: true };
      expect(JSON.stringify(upstream.calls.map((call) => call.body))).toBe(
        JSON.stringify([
          { ...fixed, temperature: 1, logprobs: true },
          { ...fixed, temperature: 0.4 },
        ]),
      );
    });

    it("sends JSON and none of the agent's headers, and returns none of the upstream's", async () => {
      await client.create("w2");
      const response = await client.post(client.proxy("w2"), {}, { "x-agent": "secret" });
      expect(response.headers.get("x-upstream")).toBeNull();
      const headers = upstream.calls[0]?.headers ?? {};
      expect(headers["content-type"]).toBe("application/json");
      expect([headers.authorization, headers["x-agent"], headers["x-api-key"]]).toEqual([
        undefined,
        undefined,
        undefined,
      ]);
    });

    it("takes completions to completions, a slash at the endpoint's end or not", async () => {
      await client.delete("/api/models");
      await client.post("/api/models", [{ model: "test-model", endpoint: `${upstream.endpoint}/` }]);
      await client.create("w3");
      const answer = {
        choices: [{ text: "x", prompt_token_ids: [5], token_ids: [6], logprobs: { token_logprobs: [-0.5] } }],
      };
      upstream.reply = () => ({ json: answer });
      expect(await read(client.post(client.proxy("w3", "completions"), { prompt: "p" }))).toEqual({
        status: 200,
        body: answer,
      });
      expect(upstream.calls[0]).toMatchObject({ path: "/v1/completions", body: { prompt: "p", logprobs: true } });
      expect(await client.triplets("w3")).toMatchObject([
        { prompt_token_ids: [5], response_token_ids: [6], response_log_probs: [-0.5] },
      ]);
      await client.delete("/api/models");
    });

    it("records what was sent and what came back", async () => {
      await client.create("w4");
      const answer = completion([1, 2], [3, 4]);
      upstream.reply = () => ({ json: answer });
      await client.post(client.proxy("w4"), { messages: [{ role: "user", content: "x" }] });
      const [event] = await client.events("w4");
      const server = { model: "test-model", endpoint: upstream.endpoint, version: 0 };
      expect(event).toMatchObject({ event_type: "model_request", rollout_id: "w4", attempt_id: "0" });
      expect(event?.data).toMatchObject({
        model: "test-model",
        model_version: 0,
        request: { messages: [{ role: "user", content: "x" }], model: "test-model", temperature: 1 },
        server,
        latency_ms: expect.any(Number),
        http_status: 200,
        status: "ok",
        retry_count: 0,
        usage: { prompt_tokens: 2, completion_tokens: 2 },
        finish_reason: "stop",
      });
      expect(JSON.stringify(event?.data.response)).toBe(JSON.stringify(answer));
      expect(await client.triplets("w4")).toMatchObject([
        {
          prompt_token_ids: [1, 2],
          response_token_ids: [3, 4],
          response_log_probs: [-0.25, -0.5],
          http_status: 200,
          status: "ok",
        },
      ]);
    });

    it("keeps a rollout at one endpoint: SHA-256 of its id, eight bytes, modulo the sorted endpoints", async () => {
      const other = new StubUpstream();
      await other.start();
      try {
        other.reply = () => ({ json: completion([1], [2]) });
        await client.post("/api/models", [{ model: "test-model", endpoint: other.endpoint }]);
        const sorted = [upstream, other].sort((a, b) => (a.endpoint < b.endpoint ? -1 : 1));
        const ids = Array.from({ length: 8 }, (_, at) => `spread-${at}`);
        await client.create(...ids);
        for (const id of ids) {
          for (const one of sorted) one.calls.length = 0;
          await client.post(client.proxy(id), {});
          const place = createHash("sha256").update(id).digest().readBigUInt64BE() % 2n;
          expect(
            sorted.map((one) => one.calls.length),
            id,
          ).toEqual(place === 0n ? [1, 0] : [0, 1]);
        }
      } finally {
        await client.delete("/api/models");
        await other.stop();
      }
    });
  });

  describe("answers that are not as they should be", () => {
    it("other client errors pass at once and are recorded", async () => {
      await client.create("a1");
      for (const status of [400, 401, 404, 422]) {
        upstream.calls.length = 0;
        replies({ status, json: { error: "e" } });
        expect(await read(client.post(client.proxy("a1"), {}))).toEqual({ status, body: { error: "e" } });
        expect(upstream.calls).toHaveLength(1);
      }
      expect((await client.triplets("a1")).map((data) => data.http_status)).toEqual([400, 401, 404, 422]);
    });

    it("a status that may pass is tried again", async () => {
      await client.create("a2");
      replies({ status: 500, json: "no", type: "text/plain" }, { json: completion([1], [2]) });
      expect((await client.post(client.proxy("a2"), {})).status).toBe(200);
      expect((await client.events("a2"))[0]?.data).toMatchObject({ retry_count: 1, http_status: 200 });
    });

    it("a body of another type is {}", async () => {
      await client.create("a3");
      replies({ status: 418, json: "<html>", type: "text/html" });
      expect(await read(client.post(client.proxy("a3"), {}))).toEqual({ status: 418, body: {} });
      replies({ json: completion([1], [2]), type: "application/json; charset=utf-8" });
      expect(await read(client.post(client.proxy("a3"), {}))).toMatchObject({ body: { id: "chatcmpl-1" } });
    });

    it("malformed JSON is an internal error without an event", async () => {
      await client.create("a4");
      replies({ json: "{oops" });
      const response = await client.post(client.proxy("a4"), {});
      expect(response.status).toBe(500);
      expect(await response.text()).toBe("Internal Server Error");
      expect(await client.events("a4")).toEqual([]);
      expect(await inflight()).toBe(0);
      expect((await read(client.get("/api/rollouts/a4/calls"))).body).toMatchObject({
        failures: [{ code: "internal" }],
      });
    });

    it("redirects are not followed", async () => {
      await client.create("a5");
      replies({
        respond(response) {
          response.writeHead(307, { location: "http://127.0.0.1:1/" });
          response.end();
        },
      });
      expect(await read(client.post(client.proxy("a5"), {}))).toEqual({ status: 307, body: {} });
    });

    it("token ids that cannot be ids are passed on and not taken for tokens", async () => {
      await client.create("a6");
      const answer = { prompt_token_ids: ["a"], choices: [{ token_ids: [1.5, -1] }] };
      replies({ json: answer });
      expect(await read(client.post(client.proxy("a6"), {}))).toEqual({ status: 200, body: answer });
      expect((await client.events("a6"))[0]?.data.response).toEqual(answer);
    });
  });
}
