/**
 * The gateway on Node's server, over sockets. Plan: the real OpenAI client (replies, streams, tools, errors, time-outs),
 * clients that vanish, streams that break, draining, ports in use.
 */
import { createServer } from "node:net";
import OpenAI from "openai";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { ServedGateway } from "../../gateway/listening.ts";
import { listenOn, serveNode } from "../../gateway/serve_node.ts";
import { AppClient } from "./app_client.ts";
import { resetUpgrades } from "./reset_upgrades.ts";

let client: AppClient;
let served: ServedGateway;
let openai: OpenAI;

async function serve(...options: ConstructorParameters<typeof AppClient>): Promise<void> {
  client = new AppClient(...options);
  served = await serveNode(client.app, { host: "127.0.0.1", port: 0 });
  await client.create("r");
  openai = new OpenAI({
    baseURL: `${served.url}/r/r/0/train/v1`,
    apiKey: await client.app.issueKey("r", "0"),
    maxRetries: 0,
  });
}

beforeEach(() => serve({ limits: { holdHeadersMs: 60, keepAliveMs: 30 } }));
afterEach(() => served.close(0));

const messages = [{ role: "user" as const, content: "hi" }];
const tools = [
  { type: "function" as const, function: { name: "add", parameters: { type: "object", properties: {} } } },
];
const deliveries = async () => (await client.calls("r")).map((call) => call.delivery);

/** Sends a chat request by hand; `stop` ends the connection. */
function post(body: object, signal?: AbortSignal): Promise<Response> {
  const headers = { authorization: "Bearer admin" };
  return fetch(`${served.url}/r/r/0/train/v1/chat/completions`, {
    method: "POST",
    headers,
    body: JSON.stringify(body),
    signal,
  });
}

it("tells the gateway where requests come from: numbers are open on loopback", async () => {
  const response = await fetch(`${served.url}/metrics`);
  expect([response.status, (await response.text()).includes("leyden_policy_version")]).toEqual([200, true]);
});

describe("the openai client", () => {
  it("reads replies and streams, with usage", async () => {
    const completion = await openai.chat.completions.create({ model: "any", messages });
    expect(completion.choices[0]?.message.content).toBe("ok");
    const stream = await openai.chat.completions.create({
      model: "any",
      messages,
      stream: true,
      stream_options: { include_usage: true },
    });
    let text = "";
    let total = 0;
    for await (const chunk of stream) {
      text += chunk.choices[0]?.delta.content ?? "";
      total = chunk.usage?.total_tokens ?? total;
    }
    expect([text, total]).toEqual(["ok", 22]);
    await expect.poll(deliveries).toEqual(["delivered", "delivered"]);
  });

  it("runs tools turn by turn, each turn continuing the one before verbatim", async () => {
    client.engine.script = (_, prompt) =>
      prompt.includes("[tool]") ? "the sum is 3" : '<call>add {"a": 1,  "b": 2}</call>';
    const parse = (text: string) => JSON.parse(text) as { a: number; b: number };
    const sum = ({ a, b }: { a: number; b: number }) => `${a + b}`;
    const add = { name: "add", description: "", parameters: { type: "object" }, parse, function: sum };
    for (const stream of [false, true]) {
      const question = [{ role: "user" as const, content: stream ? "streamed" : "whole" }];
      const params = { model: "any", messages: question, tools: [{ type: "function" as const, function: add }] };
      const chat = openai.chat.completions;
      const runner = stream ? chat.runTools({ ...params, stream }) : chat.runTools(params);
      expect(await runner.finalContent()).toBe("the sum is 3");
    }
    const calls = await client.calls("r");
    expect(calls.map((call) => call.finishReason)).toEqual(["tool_calls", "stop", "tool_calls", "stop"]);
    expect([calls[1]?.parent, calls[3]?.parent]).toEqual([calls[0]?.id, calls[2]?.id]);
  });

  it("assembles a streamed call as it was sampled", async () => {
    client.engine.script = () => '<call>add {"a": "h\\u00e9"}</call>';
    const stream = openai.chat.completions.stream({ model: "any", messages, tools });
    const completion = await stream.finalChatCompletion();
    expect(completion.choices[0]).toMatchObject({
      finish_reason: "tool_calls",
      message: { tool_calls: [{ function: { name: "add", arguments: '{"a": "h\\u00e9"}' } }] },
    });
  });

  it("knows the errors for what they are", async () => {
    client.engine.contextLength = 8;
    await expect(openai.chat.completions.create({ model: "m", messages })).rejects.toMatchObject({
      status: 400,
      code: "context_length_exceeded",
      type: "invalid_request_error",
      name: "Error",
    });
    const other = new OpenAI({ baseURL: `${served.url}/r/other/0/train/v1`, apiKey: openai.apiKey, maxRetries: 0 });
    await expect(other.chat.completions.create({ model: "m", messages })).rejects.toBeInstanceOf(
      OpenAI.PermissionDeniedError,
    );
    const nobody = new OpenAI({ baseURL: `${served.url}/v1`, apiKey: "sk-wrong", maxRetries: 0 });
    await expect(nobody.models.list()).rejects.toBeInstanceOf(OpenAI.AuthenticationError);
    expect((await openai.models.list()).data.map((model) => model.id)).toEqual(["m"]);
  });

  it("that runs out of patience and asks again leaves one turn", async () => {
    let tries = 0;
    client.engine.script = () => (tries++ === 0 ? new Promise(() => {}) : "second try");
    const impatient = new OpenAI({ baseURL: openai.baseURL, apiKey: openai.apiKey, timeout: 600, maxRetries: 1 });
    const completion = await impatient.chat.completions.create({ model: "m", messages });
    expect(completion.choices[0]?.message.content).toBe("second try");
    expect(client.engine.cancelled).toHaveLength(1);
    expect(client.engine.requests[1]?.key).toEqual(client.engine.requests[0]?.key);
    await expect.poll(deliveries).toEqual(["delivered"]);
    expect(await client.store.failures("r")).toMatchObject([{ code: "abandoned" }]);
  });

  it("survives waits, kept alive by comments", async () => {
    client.engine.script = () => new Promise((resolve) => setTimeout(() => resolve("late"), 250));
    const stream = openai.chat.completions.stream({ model: "any", messages });
    expect((await stream.finalChatCompletion()).choices[0]?.message.content).toBe("late");
  });
});

describe("a client that vanishes", () => {
  it("while tokens are drawn ends the drawing", async () => {
    client.engine.script = () => new Promise(() => {});
    for (const stream of [false, true]) {
      const stop = new AbortController();
      const pending = post({ messages, stream }, stop.signal).then((response) => response.text());
      await expect.poll(() => client.engine.requests.length).toBe(stream ? 2 : 1);
      // The stream has begun by then; the plain reply has not.
      await new Promise((resolve) => setTimeout(resolve, stream ? 120 : 20));
      stop.abort();
      await expect(pending).rejects.toThrow();
      await expect.poll(() => client.engine.cancelled.length).toBe(stream ? 2 : 1);
    }
    await expect.poll(async () => (await client.store.failures("r")).length).toBe(2);
    expect(client.app.waitingCalls("r", "0")).toBe(0);
  });

  it("before it has read a long reply leaves an abandoned call", async () => {
    await served.close(0);
    // More than sockets buffer.
    await serve({}, { tokenText: () => "x".repeat(5000) });
    client.engine.script = () => "y".repeat(1000);
    const response = await post({ messages, logprobs: true });
    await response.body?.cancel();
    await expect.poll(deliveries).toEqual(["abandoned"]);
  });
});

describe("a reply that fails after its stream began", () => {
  it("breaks the connection", async () => {
    const said = vi.spyOn(console, "error").mockImplementation(() => {});
    client.engine.script = () => new Promise((resolve) => setTimeout(() => resolve(new Error("broken")), 500));
    const response = await post({ messages, stream: true });
    expect(response.status).toBe(200);
    const reader = response.body?.getReader() as ReadableStreamDefaultReader<Uint8Array>;
    let text = "";
    const drain = async () => {
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return "ended";
        text += new TextDecoder().decode(value);
      }
    };
    await expect(drain()).rejects.toThrow();
    expect(text).toMatch(/^(: keepalive\n\n)+$/);
    said.mockRestore();
  });
});

describe("closing", () => {
  it("lets calls under way end, refuses new ones, and then stops", async () => {
    const reply = Promise.withResolvers<string>();
    client.engine.script = () => reply.promise;
    const pending = post({ messages });
    await expect.poll(() => client.engine.requests.length).toBe(1);
    const closing = served.close(5000);
    await new Promise((resolve) => setTimeout(resolve, 50));
    const refused = await client.chat("r", { messages });
    expect([refused.status, refused.headers.get("retry-after"), await refused.json()]).toMatchObject([
      503,
      "1",
      { error: { code: "shutting_down" } },
    ]);
    reply.resolve("last words");
    expect(await (await pending).text()).toContain("last words");
    await closing;
    await expect(post({ messages })).rejects.toThrow();
  });

  it("ends what does not end by itself", async () => {
    client.engine.script = () => new Promise(() => {});
    const pending = post({ messages }).then(
      (response) => response.status,
      () => "broken",
    );
    await expect.poll(() => client.engine.requests.length).toBe(1);
    await served.close(100);
    expect([499, "broken"]).toContain(await pending);
    expect(client.engine.cancelled).toHaveLength(1);
  });
});

describe("listening", () => {
  it("on a port in use is refused by name", async () => {
    const holder = createServer();
    await new Promise<void>((resolve) => holder.listen(0, "127.0.0.1", resolve));
    const { port } = holder.address() as { port: number };
    await expect(serveNode(client.app, { host: "127.0.0.1", port })).rejects.toMatchObject({
      code: "cannot_listen",
      message: `Cannot listen on 127.0.0.1:${port}: another program has that port.`,
      do: "Pass another --port, or end that program.",
    });
    holder.close();
  });

  it("outlives connections that are reset, and those that cannot be accepted", async () => {
    await resetUpgrades(served.url, "/v1/responses", 100);
    expect((await post({ messages })).status).toBe(200);
    const server = createServer();
    await listenOn(server, { host: "127.0.0.1", port: 0 });
    for (let i = 0; i < 2; i++) server.emit("error", new Error("accept EMFILE"));
    server.close();
  });
});
