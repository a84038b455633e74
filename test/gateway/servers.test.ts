/**
 * Who answers a call. Plan: the own model behind Agent Lightning's proxy (streams, refusals, pause), endpoints before the
 * own model, waiting while paused, no model at all.
 */
import { beforeEach, describe, expect, it } from "vitest";
import { createApp } from "../../gateway/app.ts";
import { systemClock, systemEntropy } from "../../src/platform/clock.ts";
import { MemoryStore } from "../../src/store/memory_store.ts";
import { ManualClock, settle } from "../rollout/manual_clock.ts";
import { AppClient, type Completion, sse } from "./app_client.ts";

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

  it("continues prompts without a chat, too", async () => {
    const response = await client.post(proxy.replace("chat/", ""), { prompt: "x" });
    expect([response.status, await response.json()]).toMatchObject([
      200,
      { choices: [{ text: "ok", token_ids: [111, 107, 0], logprobs: { token_logprobs: [-0.125, -0.25, -0.375] } }] },
    ]);
    const [event] = (await (await client.get("/api/rollouts/r/events?format=triplet")).json()) as { data: Json }[];
    expect(event?.data).toMatchObject({ prompt_token_ids: [120], response_token_ids: [111, 107, 0] });
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
      [503, { error: { code: "no_model", message: "No servers available for model 'm'" } }],
    ]);
  });
});
