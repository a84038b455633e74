/**
 * Calls that go to registered endpoints: streams, sampling, refusals, other dialects by way of chat completions, several
 * choices, timeouts.
 */
import { beforeEach, describe, expect, it } from "vitest";
import { ManualClock } from "../rollout/manual_clock.ts";
import { AppClient, sse } from "./app_client.ts";
import { completion, StubUpstream } from "./protocol/stub_upstream.ts";

type Json = Record<string, unknown>;

const messages = [{ role: "user", content: "hi" }];
const proxy = "/proxy/rollout/r/attempt/0/mode/train/openai/v1/chat/completions";

async function events(client: AppClient): Promise<Json[]> {
  const list = (await (await client.get("/api/rollouts/r/events?format=triplet")).json()) as { data: Json }[];
  return list.map((event) => event.data);
}

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

  it("are asked for a chat completion where the harness speaks another dialect", async () => {
    const response = await client.post("/r/r/0/train/v1/messages", {
      messages,
      system: "s",
      max_tokens: 7,
      stop_sequences: ["x"],
      tools: [{ name: "f", input_schema: { type: "object" } }],
      tool_choice: { type: "tool", name: "f" },
    });
    expect([response.status, await response.json()]).toMatchObject([
      200,
      {
        type: "message",
        content: [{ type: "text", text: "ok" }],
        stop_reason: "end_turn",
        usage: { input_tokens: 2, output_tokens: 1 },
      },
    ]);
    expect(sent[0]?.body).toEqual({
      model: "m",
      messages: [{ role: "system", content: "s" }, ...messages],
      tools: [{ type: "function", function: { name: "f", parameters: { type: "object" } } }],
      tool_choice: { type: "function", function: { name: "f" } },
      max_tokens: 7,
      stop: ["x"],
      temperature: 1,
      return_token_ids: true,
      logprobs: true,
    });
    const [call] = await client.calls("r");
    expect(call).toMatchObject({ dialect: "messages", own: false, policy: "m", finishReason: "end_turn" });
    expect(call?.tokens.replyIds).toEqual(Int32Array.of(3));
    answer = () => Response.json({ error: { message: "too long", code: "c" } }, { status: 400 });
    const refused = await client.post("/r/r/0/train/v1/messages", { messages, stream: true });
    expect([refused.status, await refused.json()]).toMatchObject([
      400,
      { type: "error", error: { message: "too long", details: { error_code: "c" } } },
    ]);
    answer = () => Response.json({ hello: 1 });
    const odd = await client.post("/r/r/0/train/v1/responses", { input: "hi" });
    expect([odd.status, await odd.json()]).toMatchObject([
      502,
      { error: { code: "upstream_malformed", message: "The model server's reply is no chat completion." } },
    ]);
  });

  it("keep what the harness refers to", async () => {
    const ask = async (body: Json) => {
      const response = await client.post("/r/r/0/train/v1/responses", body);
      expect(response.status).toBe(200);
      return (await response.json()) as Json;
    };
    const first = await ask({ input: "hi" });
    await ask({ input: "more", previous_response_id: first.id });
    expect(sent[1]?.body.messages).toMatchObject([
      { role: "user", content: "hi" },
      { role: "assistant", content: "ok" },
      { role: "user", content: "more" },
    ]);
  });

  it("with several choices are recorded as siblings", async () => {
    const choice = (index: number) => ({
      index,
      message: { role: "assistant", content: `c${index}` },
      finish_reason: "stop",
      token_ids: [index],
    });
    answer = () => Response.json({ choices: [choice(0), choice(1)], prompt_token_ids: [1, 2] });
    const response = await client.chat("r", { messages, n: 2 });
    expect(((await response.json()) as { choices: unknown[] }).choices).toHaveLength(2);
    const calls = await client.calls("r");
    expect(calls.map(({ tokens }) => [...tokens.replyIds])).toEqual([[0], [1]]);
    expect(calls.map(({ callKey }) => callKey.split(".")[1])).toEqual(["0", "1"]);
    expect(calls.map(({ response: json }) => json)).toMatchObject([{ choices: [choice(0)] }, { choices: [choice(1)] }]);
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

describe("an endpoint that refuses connections", () => {
  /** Waits of less than a minute are over at once, and noted; the time a try may take does not pass. */
  class SteppingClock extends ManualClock {
    readonly waits: number[] = [];

    override sleep(ms: number, signal?: AbortSignal): Promise<void> {
      if (ms >= 60_000) return super.sleep(ms, signal);
      this.waits.push(ms);
      return Promise.resolve();
    }
  }

  it("is tried six times over some 15 s, then 502 without an event", async () => {
    const nobody = new StubUpstream();
    await nobody.start();
    const { endpoint } = nobody;
    await nobody.stop();
    const clock = new SteppingClock();
    const asked: string[] = [];
    const fetch = (url: string, init: RequestInit) => {
      asked.push(url);
      return globalThis.fetch(url, init);
    };
    const client = new AppClient({}, { clock, fetch });
    await client.create("r");
    await client.post("/api/models", [{ model: "m", endpoint }]);
    const reply = await client.post(proxy, {});
    expect([reply.status, await reply.json()]).toEqual([502, { detail: "Upstream model server request failed" }]);
    expect(asked).toEqual(Array.from({ length: 6 }, () => `${endpoint}/chat/completions`));
    // Each a quarter shorter or longer.
    const expected = [500, 1000, 2000, 4000, 8000];
    const waits = clock.waits.filter((ms) => ms >= 375);
    expect(waits).toHaveLength(expected.length);
    for (const [at, ms] of expected.entries()) expect(Math.abs((waits[at] ?? 0) / ms - 1)).toBeLessThanOrEqual(0.25);
    expect(await events(client)).toEqual([]);
    expect(await (await client.get("/proxy/state")).json()).toMatchObject({ inflight: 0 });
    expect(await (await client.get("/api/rollouts/r/calls")).json()).toMatchObject({
      failures: [{ http_status: 502, retry_count: 5, message: "Upstream model server request failed" }],
    });
  });
});
