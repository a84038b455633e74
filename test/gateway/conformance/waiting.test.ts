/** Facts 12 to 21 of the conformance plan: clients that wait, and what is asked beside calls of the model. */
import { connect } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { dataOf, GatewayServer, type Json } from "./gateway_server.ts";
import { hi, least, nextDraw, paths, sleep, streamed } from "./requests.ts";

const server = new GatewayServer({ limits: { holdHeadersMs: 40, keepAliveMs: 20 } });
beforeAll(() => server.open());
afterAll(() => server.close());

/** Until something is so. */
async function until(condition: () => Promise<boolean>): Promise<void> {
  await expect.poll(condition, { timeout: 5000 }).toBe(true);
}

describe("fact", () => {
  it("12: a client that waits is kept waiting, and one that leaves ends the generation", async () => {
    const rollout = await server.rollout();
    nextDraw(server, () => sleep(150));
    const { status, text } = await server.post(rollout, "/v1/messages", streamed["/v1/messages"]);
    expect([status, text.includes("message_stop")]).toEqual([200, true]);
    const cancelled = Promise.withResolvers<void>();
    const client = new AbortController();
    nextDraw(server, (signal) => {
      client.abort();
      return signal.then(() => cancelled.resolve());
    });
    const { signal } = client;
    await expect(server.post(rollout, "/v1/messages", least["/v1/messages"], { signal })).rejects.toThrow();
    await cancelled.promise;
    await until(async () => (await server.store.failures(rollout)).some(({ code }) => code === "abandoned"));
    expect(await server.calls(rollout)).toHaveLength(1);
  });

  it("13: a client that times out and sends again gets one turn", async () => {
    const rollout = await server.rollout();
    const client = new AbortController();
    nextDraw(server, (signal) => {
      client.abort();
      return signal;
    });
    await expect(server.post(rollout, "/v1/chat/completions", hi, { signal: client.signal })).rejects.toThrow();
    // A client's leaving takes its time on the way: the retry is not to overtake it.
    await until(async () => (await server.store.failures(rollout)).length === 1);
    expect((await server.post(rollout, "/v1/chat/completions", hi)).status).toBe(200);
    const calls = await server.calls(rollout);
    expect(calls.map(({ callKey }) => callKey.split(".")[1])).toEqual(["0"]);
  });

  it("14: a stream that waits is kept alive by comments", async () => {
    for (const [path, body] of Object.entries(streamed)) {
      const commented = Promise.withResolvers<void>();
      nextDraw(server, () => commented.promise);
      const { text } = await server.post(await server.rollout(), path, body, {}, (said) => {
        if (said.includes(": keepalive\n\n")) commented.resolve();
      });
      expect(text, path).toMatch(/^(: keepalive\n\n)+(event|data): /);
      expect(dataOf(text).length, path).toBeGreaterThan(2);
    }
  });

  it("15: Gemini's streams hold no comments", async () => {
    nextDraw(server, () => sleep(120));
    const path = "/v1beta/models/m:streamGenerateContent?alt=sse";
    const { text } = await server.post(await server.rollout(), path, least["/v1beta/models/m:generateContent"]);
    expect(text.split("\n\n").every((event) => event === "" || event.startsWith("data: "))).toBe(true);
  });

  it("16: a prompt that is too long is refused in the words that clients know", async () => {
    const tight = new GatewayServer();
    tight.engine.contextLength = 5;
    await tight.open();
    const said: (readonly [number, string])[] = [];
    for (const [path, body] of paths) {
      const long = path === "/v1/completions" ? { prompt: "a longer one" } : body;
      const { status, text } = await tight.post(await tight.rollout(), path, long);
      said.push([status, text]);
    }
    await tight.close();
    const words = [
      /"code":"context_length_exceeded"/,
      /"code":"context_length_exceeded"/,
      /"code":"context_length_exceeded"/,
      /prompt is too long: \d+ tokens > 4 maximum/,
      /The input token count \(\d+\) exceeds the maximum number of tokens allowed \(4\)/,
    ];
    for (const [at, [status, text]] of said.entries()) {
      expect([status, text]).toEqual([400, expect.stringMatching(words[at] as RegExp)]);
    }
  });

  it("17: HEAD of the base address is answered", async () => {
    const rollout = await server.rollout();
    for (const path of ["/", `/r/${rollout}/0/train`, `/r/${rollout}/0/train/`]) {
      expect((await fetch(`${server.url}${path}`, { method: "HEAD" })).status, path).toBe(200);
    }
  });

  it("18: the list of models reads for the clients of every dialect", async () => {
    const headers = { "x-api-key": "admin" };
    const list = (await (await fetch(`${server.url}/v1/models`, { headers })).json()) as {
      object: string;
      data: Json[];
    };
    expect(list).toMatchObject({ object: "list", data: [{ id: "policy", object: "model", type: "model" }] });
    expect(list.data[0]).toMatchObject({ created: expect.any(Number), created_at: expect.any(String) });
    const one = await (await fetch(`${server.url}/v1/models/policy`, { headers })).json();
    expect(one).toMatchObject({ id: "policy", object: "model" });
    const gemini = (await (await fetch(`${server.url}/v1beta/models`, { headers })).json()) as { models: Json[] };
    expect(gemini.models).toMatchObject([{ name: "models/policy" }]);
    expect((await fetch(`${server.url}/v1/models/other`, { headers })).status).toBe(404);
  });

  it("19: tokens are counted by the real tokenizer", async () => {
    const rollout = await server.rollout();
    const { text } = await server.post(rollout, "/v1/messages/count_tokens", hi);
    await server.json(rollout, "/v1/messages", { ...hi, max_tokens: 9 });
    const [call] = await server.calls(rollout);
    expect(JSON.parse(text)).toEqual({ input_tokens: call?.tokens.promptIds.length });
  });

  it("20: a WebSocket is refused with 426, and the client's POST answered", async () => {
    const { hostname, port } = new URL(server.url);
    const lines = await new Promise<string>((resolve, reject) => {
      const socket = connect(Number(port), hostname, () =>
        socket.write(
          "GET /v1/responses HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n" +
            "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: eA==\r\n\r\n",
        ),
      );
      socket.once("data", (data) => {
        socket.destroy();
        resolve(String(data));
      });
      socket.once("error", reject);
    });
    expect(lines).toMatch(/^HTTP\/1\.1 426 /);
    expect((await server.post(await server.rollout(), "/v1/responses", { input: "hi" })).status).toBe(200);
  });

  it("21: usage is always there and true", async () => {
    const rollout = await server.rollout();
    const counts: [unknown, unknown][] = [];
    for (const [path, body] of paths) {
      const answer = await server.json(rollout, path, body);
      const usage = (answer.usage ?? answer.usageMetadata) as Json;
      const prompt = usage.prompt_tokens ?? usage.input_tokens ?? usage.promptTokenCount;
      counts.push([prompt, usage.completion_tokens ?? usage.output_tokens ?? usage.candidatesTokenCount]);
    }
    const calls = await server.calls(rollout);
    expect(counts).toEqual(calls.map(({ tokens }) => [tokens.promptIds.length, tokens.replyIds.length]));
    const { text } = await server.post(rollout, "/v1/messages", streamed["/v1/messages"]);
    const [start] = dataOf(text);
    expect(start).toMatchObject({ message: { usage: { input_tokens: expect.any(Number) } } });
  });
});
