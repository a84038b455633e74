/**
 * Who answers a call. Plan: the own model behind Agent Lightning's proxy (streams, refusals, pause), registered
 * endpoints behind the attempt's address (streams, sampling, refusals), endpoints before the own model, waiting while
 * paused, no model at all.
 */
import { beforeEach, describe, expect, it } from "vitest";
import { createApp } from "../../gateway/app.ts";
import { systemClock, systemEntropy } from "../../src/platform/clock.ts";
import { MemoryStore } from "../../src/store/memory_store.ts";
import { ManualClock, settle } from "../rollout/manual_clock.ts";
import { AppClient, type Completion, sse } from "./app_client.ts";
import { completion } from "./protocol/stub_upstream.ts";

type Json = Record<string, unknown>;

const messages = [{ role: "user", content: "hi" }];
const proxy = "/proxy/rollout/r/attempt/0/mode/train/openai/v1/chat/completions";

async function events(client: AppClient): Promise<Json[]> {
  const list = (await (await client.get("/api/rollouts/r/events?format=triplet")).json()) as { data: Json }[];
  return list.map((event) => event.data);
}

describe("the own model behind Agent Lightning's proxy", () => {
  let client: AppClient;
  beforeEach(async () => {
    client = new AppClient();
    await client.create("r");
  });

  it("answers with token ids and logprobs, as an upstream would", async () => {
    const answer = (await (await client.post(proxy, { messages, temperature: 0.1, top_p: 0.2 })).json()) as Completion;
    expect(answer).toMatchObject({ model: "m", choices: [{ token_ids: [111, 107, 0] }] });
    expect(answer.choices[0]?.logprobs?.content).toHaveLength(3);
    expect(client.engine.requests[0]?.sampling).toEqual({ temperature: 1, topP: 1, topK: 0, minP: 0 });
    expect(await events(client)).toMatchObject([
      { response_token_ids: [111, 107, 0], response_log_probs: [-0.125, -0.25, -0.375], status: "ok" },
    ]);
  });

  it("streams", async () => {
    const { chunks, done } = sse(await (await client.post(proxy, { messages, stream: true })).text());
    expect([done, chunks.length]).toEqual([true, 3]);
    expect(chunks[0]?.prompt_token_ids).toHaveLength(19);
  });

  it("records what it refuses, as it records an upstream's refusal", async () => {
    client.engine.contextLength = 4;
    for (const stream of [false, true]) {
      const response = await client.post(proxy, { messages, stream });
      expect([response.status, await response.json()]).toMatchObject([
        400,
        { error: { code: "context_length_exceeded" } },
      ]);
    }
    const refused = {
      status: "error",
      http_status: 400,
      prompt_token_ids: [],
      error: { code: "context_length_exceeded" },
    };
    expect(await events(client)).toMatchObject([refused, refused]);
    expect(await client.calls("r")).toEqual([]);
    client.engine.contextLength = 4096;
    client.engine.script = () => new Error("broken");
    const fresh = new AppClient({}, { engine: client.engine });
    await fresh.create("r");
    expect((await fresh.post(proxy, { messages })).status).toBe(500);
    expect(await events(fresh)).toEqual([]);
    expect(await fresh.store.failures("r")).toHaveLength(1);
  });

  it("is refused at once while paused", async () => {
    await client.post("/proxy/pause", { retry_after_seconds: 3 });
    const response = await client.post(proxy, { messages, stream: true });
    expect([response.status, response.headers.get("retry-after"), response.headers.get("x-agl-paused")]).toEqual([
      429,
      "3",
      "true",
    ]);
    expect(await response.json()).toEqual({ error: "gateway paused", reason: null });
  });

  it("knows chat completions only", async () => {
    const response = await client.post(proxy.replace("chat/", ""), { prompt: "x" });
    expect([response.status, await response.json()]).toMatchObject([404, { error: { code: "unsupported_path" } }]);
  });
});

describe("registered endpoints behind the attempt's address", () => {
  let client: AppClient;
  let sent: { url: string; body: Json }[];
  let answer: () => Response;
  beforeEach(async () => {
    sent = [];
    answer = () => Response.json(completion([1, 2], [3]));
    client = new AppClient(
      {},
      {
        fetch: async (url, init) => {
          sent.push({ url, body: JSON.parse(String(init.body)) as Json });
          return answer();
        },
      },
    );
    await client.create("r");
    await client.post("/api/models", [{ model: "m", endpoint: "http://up/v1", version: 9 }]);
  });

  it("come before the own model, and streams are made of their replies", async () => {
    const { chunks, done } = sse(
      await (await client.chat("r", { messages, stream: true, stream_options: { include_usage: true } })).text(),
    );
    expect(client.engine.requests).toEqual([]);
    expect(sent[0]).toMatchObject({
      url: "http://up/v1/chat/completions",
      body: { messages, model: "m", return_token_ids: true, logprobs: true },
    });
    expect(sent[0]?.body).not.toHaveProperty("stream");
    expect(sent[0]?.body).not.toHaveProperty("stream_options");
    expect(done).toBe(true);
    expect(chunks[1]).toMatchObject({ choices: [{ delta: { content: "ok" } }] });
    expect(chunks.at(-1)).toMatchObject({ usage: { prompt_tokens: 2 } });
    const [call] = await client.calls("r");
    expect(call).toMatchObject({ own: false, policy: "m", server: { version: 9 }, delivery: "delivered" });
    expect(call?.tokens).toEqual({
      promptIds: Int32Array.of(1, 2),
      replyIds: Int32Array.of(3),
      logprobs: Float32Array.of(-0.25),
      versions: Int32Array.of(9),
    });
  });

  it("get plain sampling in train mode and what they can follow otherwise", async () => {
    const shaped = {
      messages,
      temperature: 0.1,
      top_p: 0.5,
      seed: 1,
      presence_penalty: 1,
      response_format: { type: "json_object" },
    };
    await (await client.chat("r", shaped)).text();
    expect(sent[0]?.body).toMatchObject({ temperature: 1, response_format: { type: "json_object" } });
    for (const name of ["top_p", "seed", "presence_penalty"]) expect(sent[0]?.body).not.toHaveProperty(name);
    expect((await client.calls("r"))[0]?.overridden).toEqual({
      temperature: 0.1,
      top_p: 0.5,
      seed: 1,
      presence_penalty: 1,
    });
    await (await client.chat("r", shaped, "0", "val")).text();
    expect(sent[1]?.body).toMatchObject({ temperature: 0.7, top_p: 0.5, seed: 1, presence_penalty: 1 });
  });

  it("refuse in their own words, streams included", async () => {
    answer = () => Response.json({ error: { message: "too long" } }, { status: 400 });
    for (const stream of [false, true]) {
      const response = await client.chat("r", { messages, stream });
      expect([response.status, await response.json()]).toEqual([400, { error: { message: "too long" } }]);
    }
    expect(await events(client)).toMatchObject([{ http_status: 400 }, { http_status: 400 }]);
  });

  it("get no call of a dialect they do not take", async () => {
    const response = await client.post("/r/r/0/train/v1/messages", { messages });
    expect([response.status, await response.json()]).toMatchObject([
      400,
      {
        error: {
          type: "invalid_request_error",
          message:
            "This rollout's calls go to a registered endpoint, which does not take messages. Call /v1/chat/completions.",
          details: { error_code: "not_forwarded" },
        },
      },
    ]);
    expect(sent).toEqual([]);
  });

  it("that time out are tried again, then 504", async () => {
    const clock = new ManualClock();
    const never = (_: string, init: RequestInit) =>
      new Promise<Response>((_resolve, reject) =>
        init.signal?.addEventListener("abort", () => reject(new Error("aborted"))),
      );
    const slow = new AppClient({ limits: { upstreamTimeoutMs: 1000 } }, { clock, fetch: never });
    await slow.create("r");
    await slow.post("/api/models", [{ model: "m", endpoint: "http://up/v1" }]);
    let isDone = false;
    const pending = Promise.resolve(slow.post(proxy, { messages })).finally(() => {
      isDone = true;
    });
    const started = clock.now();
    while (!isDone) await clock.advance(clock.waiting > 0 ? 250 : 0);
    const response = await pending;
    expect(clock.now() - started).toBeGreaterThan(6 * 1000 + 15_500 * 0.75);
    expect([response.status, await response.json()]).toEqual([504, { detail: "Upstream model server timed out" }]);
    expect(await events(slow)).toEqual([]);
    expect(await slow.store.failures("r")).toMatchObject([{ httpStatus: 504, retryCount: 5 }]);
  });
});

describe("while paused", () => {
  it("calls by the attempt's address wait and are answered when it resumes", async () => {
    const clock = new ManualClock();
    const client = new AppClient({}, { clock });
    await client.create("r");
    await client.post("/proxy/pause", {});
    const pending = client.ask("r", "hi");
    await settle();
    await clock.advance(60_000);
    expect(client.engine.requests).toEqual([]);
    await client.post("/proxy/resume");
    expect((await pending).choices[0]?.message.content).toBe("ok");
    expect(clock.waiting).toBe(0);
  });

  it("too long a wait is 429 with headers, and a client that goes is forgotten", async () => {
    const clock = new ManualClock();
    const client = new AppClient({ limits: { pausedHoldMs: 5000 } }, { clock });
    await client.create("r");
    await client.post("/proxy/pause", { retry_after_seconds: 2 });
    const stop = new AbortController();
    const gone = client.chat("r", { messages }, "0", "train", { signal: stop.signal });
    const pending = client.chat("r", { messages });
    await settle();
    stop.abort();
    expect((await gone).status).toBe(499);
    await clock.advance(5000);
    const response = await pending;
    expect([response.status, response.headers.get("retry-after"), response.headers.get("x-agl-paused")]).toEqual([
      429,
      "2",
      "true",
    ]);
    expect(await response.json()).toMatchObject({ error: { code: "paused", type: "rate_limit_error" } });
    expect(client.engine.requests).toEqual([]);
  });
});

describe("no model", () => {
  it("is said in each protocol's words", async () => {
    const parts = { store: new MemoryStore(), model: null, clock: systemClock, entropy: systemEntropy };
    const app = createApp({ ...parts, config: { modelName: "m" } });
    const post = (path: string, body: unknown) => app.request(path, { method: "POST", body: JSON.stringify(body) });
    await post("/api/rollouts", [{ rollout_id: "r", input: 1 }]);
    const shown = await Promise.all(
      [proxy, "/r/r/0/train/v1/chat/completions", "/v1/chat/completions"].map(async (path) => {
        const response = await post(path, { messages });
        return [response.status, (await response.json()) as Json];
      }),
    );
    expect(shown).toMatchObject([
      [503, { detail: "No servers available for model 'm'" }],
      [503, { error: { code: "no_model", message: "No servers available for model 'm'" } }],
      [503, { error: { code: "no_model", message: "This gateway serves no model outside rollouts." } }],
    ]);
  });
});
