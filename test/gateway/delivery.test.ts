/**
 * Streams and deliveries of the own model. Plan: what a stream says, usage, holding headers, keeping alive, late
 * failures, disconnects before and after the reply, draws after an abandoned one.
 */
import { beforeEach, describe, expect, it } from "vitest";
import { ManualClock, settle } from "../rollout/manual_clock.ts";
import { AppClient, sse } from "./app_client.ts";

type Json = Record<string, unknown>;

let clock: ManualClock;
let client: AppClient;
beforeEach(async () => {
  clock = new ManualClock();
  client = new AppClient({}, { clock });
  await client.create("r");
});

const user = (text: string, more: Json = {}) => ({
  stream: true,
  messages: [{ role: "user", content: text }],
  ...more,
});
const tools = [{ type: "function", function: { name: "add" } }];

async function stream(body: Json): Promise<{ chunks: Json[]; done: boolean }> {
  const response = await client.chat("r", body);
  expect(response.headers.get("content-type")).toBe("text/event-stream; charset=utf-8");
  return sse(await response.text());
}

const choiceOf = (chunk: Json | undefined) => (chunk?.choices as Json[] | undefined)?.[0];
const deltas = (chunks: Json[]) => chunks.map((chunk) => choiceOf(chunk)?.delta);

describe("a stream", () => {
  it("begins with the role, ends with the reason and [DONE]", async () => {
    const { chunks, done } = await stream(user("hi"));
    expect(done).toBe(true);
    expect(deltas(chunks)).toEqual([{ role: "assistant", content: "" }, { content: "ok" }, {}]);
    expect(chunks.map((chunk) => choiceOf(chunk)?.finish_reason)).toEqual([null, null, "stop"]);
    for (const chunk of chunks) {
      expect(chunk).toMatchObject({
        object: "chat.completion.chunk",
        model: "m",
        id: expect.stringMatching(/^chatcmpl-/),
      });
      expect(chunk).not.toHaveProperty("usage");
    }
  });

  it("gives a call's id and name before its arguments, thinking before text", async () => {
    client.engine.script = () => '<think>t</think>x<call>add {"a":1}</call><call>add {}</call>';
    const { chunks } = await stream(user("hi", { tools }));
    const id = expect.stringMatching(/^call_/);
    expect(deltas(chunks)).toEqual([
      { role: "assistant", content: "" },
      { reasoning_content: "t" },
      { content: "x" },
      { tool_calls: [{ index: 0, id, type: "function", function: { name: "add", arguments: "" } }] },
      { tool_calls: [{ index: 0, function: { arguments: '{"a":1}' } }] },
      { tool_calls: [{ index: 1, id, type: "function", function: { name: "add", arguments: "" } }] },
      { tool_calls: [{ index: 1, function: { arguments: "{}" } }] },
      {},
    ]);
    expect(choiceOf(chunks.at(-1))?.finish_reason).toBe("tool_calls");
  });

  it("has usage, token ids and logprobs when they are asked for", async () => {
    const { chunks } = await stream(
      user("hi", { stream_options: { include_usage: true }, return_token_ids: true, logprobs: true }),
    );
    expect(chunks.at(-1)).toMatchObject({ choices: [], usage: { prompt_tokens: 19, completion_tokens: 3 } });
    expect(chunks.slice(0, -1).map((chunk) => chunk.usage)).toEqual([null, null, null]);
    expect(chunks[0]?.prompt_token_ids).toHaveLength(19);
    expect(choiceOf(chunks[1])).toMatchObject({ token_ids: [111, 107, 0], logprobs: { content: [{}, {}, {}] } });
  });

  it("of siblings ends each with its reason", async () => {
    const { chunks } = await stream(user("hi", { n: 2 }));
    const ends = chunks.filter((chunk) => choiceOf(chunk)?.finish_reason === "stop");
    expect(ends.map((chunk) => choiceOf(chunk)?.index)).toEqual([0, 1]);
  });

  it("that is refused is no stream", async () => {
    client.engine.contextLength = 5;
    const response = await client.chat("r", user("hi"));
    expect([response.status, response.headers.get("content-type")]).toEqual([400, "application/json"]);
  });
});

describe("holding and keeping alive", () => {
  it("holds the headers for 20 s, then sends a comment every 10 s until the reply is there", async () => {
    const reply = Promise.withResolvers<string>();
    client.engine.script = () => reply.promise;
    let response: Response | null = null;
    const pending = client.chat("r", user("hi")).then((got) => {
      response = got;
      return got;
    });
    await settle();
    await clock.advance(19_999);
    expect(response).toBeNull();
    await clock.advance(1);
    const reader = (await pending).body?.getReader() as ReadableStreamDefaultReader<Uint8Array>;
    const read = async () => new TextDecoder().decode((await reader.read()).value);
    for (let n = 0; n < 3; n++) {
      const comment = read();
      await settle();
      await clock.advance(10_000);
      expect(await comment).toBe(": keepalive\n\n");
    }
    reply.resolve("late");
    let rest = "";
    for (let part = await read(); part !== ""; part = await read()) rest += part;
    expect(sse(rest)).toMatchObject({ done: true, chunks: [{}, { choices: [{ delta: { content: "late" } }] }, {}] });
    await settle();
    expect((await client.calls("r"))[0]?.delivery).toBe("delivered");
  });

  it("a failure in time has its own status", async () => {
    client.engine.script = async () => {
      await clock.sleep(19_000);
      return new Error("broken");
    };
    const pending = client.chat("r", user("hi"));
    await settle();
    await clock.advance(19_000);
    expect((await pending).status).toBe(500);
  });

  it("a later failure breaks the stream and never ends it", async () => {
    const reply = Promise.withResolvers<Error>();
    client.engine.script = () => reply.promise;
    const pending = client.chat("r", user("hi"));
    await settle();
    await clock.advance(20_000);
    const response = await pending;
    expect(response.status).toBe(200);
    const text = response.text().then(
      () => "ended",
      () => "broken",
    );
    await settle();
    reply.resolve(new Error("broken"));
    expect(await text).toBe("broken");
  });

  it("a reply that is no stream is held as long as it takes", async () => {
    const reply = Promise.withResolvers<string>();
    client.engine.script = () => reply.promise;
    const pending = client.ask("r", "hi");
    await settle();
    await clock.advance(300_000);
    reply.resolve("late");
    expect((await pending).choices[0]?.message.content).toBe("late");
  });
});

describe("delivery", () => {
  const deliveries = async () => {
    await settle();
    return (await client.calls("r")).map((call) => call.delivery);
  };

  it("is noted when the reply was taken to its end", async () => {
    const response = await client.chat("r", { messages: user("hi").messages });
    expect(response.headers.get("content-length")).not.toBeNull();
    expect(await deliveries()).toEqual(["pending"]);
    await response.text();
    expect(await deliveries()).toEqual(["delivered"]);
    await (await client.chat("r", user("hi"))).text();
    expect(await deliveries()).toEqual(["delivered", "delivered"]);
  });

  it("is abandoned when the client goes before, or in the middle of a stream", async () => {
    await (await client.chat("r", { messages: user("a").messages })).body?.cancel();
    const reader = (await client.chat("r", user("b"))).body?.getReader();
    await reader?.read();
    await reader?.cancel();
    expect(await deliveries()).toEqual(["abandoned", "abandoned"]);
  });

  it("of a stream is complete with its terminator, read on or not", async () => {
    const reader = (await client.chat("r", user("a"))).body?.getReader();
    let text = "";
    while (!text.endsWith("data: [DONE]\n\n")) text += new TextDecoder().decode((await reader?.read())?.value);
    await reader?.cancel();
    expect(await deliveries()).toEqual(["delivered"]);
  });

  it("a reply that was abandoned is drawn again under its key, and is no turn to continue", async () => {
    client.engine.script = () => "same";
    await (await client.chat("r", { messages: user("hi").messages })).body?.cancel();
    await client.ask("r", "hi");
    await client.ask("r", "hi");
    const keys = (await client.calls("r")).map((call) => call.callKey.split(".")[1]);
    expect(keys).toEqual(["0", "0", "1"]);
    const streams = client.engine.requests.map((request) => request.key.join());
    expect(streams[0]).toBe(streams[1]);
    expect(streams[1]).not.toBe(streams[2]);
    const next = [...user("hi").messages, { role: "assistant", content: "same" }, { role: "user", content: "more" }];
    await (await client.chat("r", { messages: next })).text();
    const calls = await client.calls("r");
    expect(calls.at(-1)?.parent).not.toBe(calls[0]?.id);
    expect([calls[1]?.id, calls[2]?.id]).toContain(calls.at(-1)?.parent);
  });

  it("a client that goes while tokens are drawn ends the drawing", async () => {
    client.engine.script = () => new Promise(() => {});
    const stop = new AbortController();
    const init = { signal: stop.signal };
    const pending = client.chat("r", user("hi"), "0", "train", init);
    await settle();
    expect(client.app.waitingCalls("r", "0")).toBe(1);
    stop.abort();
    expect((await pending).status).toBe(499);
    expect(client.engine.cancelled).toEqual([client.engine.requests[0]?.id]);
    expect(await client.calls("r")).toEqual([]);
    expect(await client.store.failures("r")).toMatchObject([{ code: "abandoned", httpStatus: 499, attemptId: "0" }]);
    expect(client.app.waitingCalls("r", "0")).toBe(0);
    client.engine.script = () => "ok";
    await client.ask("r", "hi");
    expect(client.engine.requests[1]?.key).toEqual(client.engine.requests[0]?.key);
  });

  it("a client that goes from a stream that is kept alive ends the drawing too", async () => {
    client.engine.script = () => new Promise(() => {});
    const stop = new AbortController();
    const pending = client.chat("r", user("hi"), "0", "train", { signal: stop.signal });
    await settle();
    await clock.advance(20_000);
    const { body } = await pending;
    stop.abort();
    await body?.cancel();
    await settle();
    expect(client.engine.cancelled).toHaveLength(1);
    expect(await client.store.failures("r")).toMatchObject([{ code: "abandoned" }]);
  });
});
