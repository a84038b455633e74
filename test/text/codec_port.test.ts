/** A codec behind a port: what goes in comes out as it would here, faults keep their codes, a dead worker ends all calls. */
import { describe, expect, it } from "vitest";
import type { ChatRequest, RecordedCall } from "../../src/schema/chat.ts";
import type { WorkerPort } from "../../src/schema/platform.ts";
import { chatmlTemplate } from "../../src/text/chatml.ts";
import { CodecClient } from "../../src/text/codec_port.ts";
import { serveCodec } from "../../src/text/codec_server.ts";
import { tinyFormat } from "./formats.ts";

/** Two ends of a channel whose messages are cloned, as between threads. */
function channel(): [WorkerPort, WorkerPort] {
  const receivers: ((message: unknown) => void)[] = [() => {}, () => {}];
  const end = (own: number): WorkerPort => ({
    post: (message) => queueMicrotask(() => receivers[1 - own]?.(structuredClone(message))),
    onMessage: (receive) => {
      receivers[own] = receive;
    },
  });
  return [end(0), end(1)];
}

const format = tinyFormat(chatmlTemplate);

function open(): CodecClient {
  const [here, there] = channel();
  serveCodec(format, there);
  return new CodecClient(here);
}

const request: ChatRequest = { messages: [{ role: "user", content: "hello there" }] };

describe("a codec behind a port", () => {
  it("encodes as it does here, continuations included", async () => {
    const client = open();
    const first = format.encodeRequest(request, []);
    expect(await client.encodeRequest(request, [])).toEqual(first);
    const reply = { role: "assistant" as const, content: "fine" };
    const replyIds = Int32Array.from([...format.tokenizer.encode("fine"), ...format.stopIds.slice(0, 1)]);
    const recorded: RecordedCall = { id: "a", request, reply, promptIds: first.ids, replyIds };
    const next: ChatRequest = { messages: [...request.messages, reply, { role: "user", content: "go on" }] };
    const prompt = await client.encodeRequest(next, [recorded]);
    expect(prompt).toEqual(format.encodeRequest(next, [recorded]));
    expect([prompt.parentCall, prompt.prefixLength]).toEqual(["a", first.ids.length + replyIds.length]);
    expect(await client.encodeText("a<|im_end|>", false)).toEqual(format.encodeText("a<|im_end|>", false));
    expect(await client.encodeText("", true)).toEqual(new Int32Array(0));
  });

  it("answers several calls in their order, and their faults with their codes", async () => {
    const client = open();
    const image: ChatRequest = { messages: [{ role: "user", content: [{ type: "image_url" }] }] };
    const order: string[] = [];
    const all = await Promise.allSettled([
      client.encodeRequest(request, []).then(() => order.push("a")),
      client.encodeRequest(image, []).catch((thrown: unknown) => {
        order.push("b");
        throw thrown;
      }),
      client.encodeText("x", false).then(() => order.push("c")),
    ]);
    expect(order).toEqual(["a", "b", "c"]);
    expect(all[1]).toMatchObject({
      status: "rejected",
      reason: { code: "unsupported_content", do: "Send text only; the model reads nothing else.", exitCode: 4 },
    });
  });

  it("serves what goes on before what begins, which still has its turn", async () => {
    const client = open();
    const order: string[] = [];
    const long = (name: string) => client.encodeText(name, false).then(() => order.push(name));
    const short = (name: string) => client.encodeText(name, true).then(() => order.push(name));
    const shorts = Array.from({ length: 10 }, (_, at) => `s${at}`);
    await Promise.all([long("first"), long("second"), ...shorts.map(short)]);
    expect(order).toEqual(["first", ...shorts.slice(0, 8), "second", ...shorts.slice(8)]);
  });

  it("encodes a prompt that begins a conversation once, for all that begin with it", async () => {
    const { encodeAddition } = format;
    let encoded = 0;
    format.encodeAddition = (...args) => {
      encoded++;
      return encodeAddition.apply(format, args);
    };
    const client = open();
    const [a, b] = [await client.encodeRequest(request, []), await client.encodeRequest(request, [])];
    await client.encodeRequest({ messages: [{ role: "user", content: "other" }] }, []);
    format.encodeAddition = encodeAddition;
    expect([encoded, b]).toEqual([2, a]);
  });

  it("sends of a conversation that goes on what is new, and all of it again when the worker has dropped some", async () => {
    const sent: string[] = [];
    const [here, there] = channel();
    serveCodec(format, there, 1000);
    const client = new CodecClient({
      ...here,
      post: (message) => {
        sent.push(JSON.stringify(message));
        here.post(message);
      },
    });
    const first = await client.encodeRequest(request, []);
    const reply = { role: "assistant" as const, content: "fine" };
    const replyIds = [...format.tokenizer.encode("fine"), ...format.stopIds.slice(0, 1)];
    const recorded: RecordedCall = { id: "a", request, reply, promptIds: first.ids, replyIds };
    const next: ChatRequest = { messages: [...request.messages, reply, { role: "user", content: "go on" }] };
    const expected = format.encodeRequest(next, [recorded]);
    expect(await client.encodeRequest(next, [recorded])).toEqual(expected);
    expect(sent.slice(1).map((message) => message.includes("hello there"))).toEqual([false]);
    for (const content of ["b", "c"].map((text) => text.repeat(1200))) {
      await client.encodeRequest({ messages: [{ role: "user", content }] }, []);
    }
    expect(await client.encodeRequest(next, [recorded])).toEqual(expected);
    expect(sent.slice(4).map((message) => message.includes("hello there"))).toEqual([false, true]);
  });

  it("answers what can be sent when it waits with what cannot", async () => {
    const [here, there] = channel();
    serveCodec(format, there);
    const client = new CodecClient({
      ...here,
      post: (message) => {
        if (JSON.stringify(message).includes("bad")) throw new Error("cannot be cloned");
        here.post(message);
      },
    });
    const texts = ["x", "one", "bad", "two"];
    const all = await Promise.allSettled(texts.map((text) => client.encodeText(text, true)));
    expect(all.map(({ status }) => status)).toEqual(["fulfilled", "fulfilled", "rejected", "fulfilled"]);
    expect(await client.encodeText("y", true)).toEqual(format.encodeText("y", true));
  });

  it("goes on after a request that cannot be sent", async () => {
    const client = open();
    const [here] = channel();
    const odd = new CodecClient({
      ...here,
      post: () => {
        throw new Error("cannot be cloned");
      },
    });
    await expect(odd.encodeText("x", false)).rejects.toThrow("cannot be cloned");
    await expect(odd.encodeText("y", true)).rejects.toThrow("cannot be cloned");
    expect(await client.encodeText("x", false)).toEqual(format.encodeText("x", false));
  });

  it("rejects what waits, and what comes later, when its worker is gone", async () => {
    const [here] = channel();
    const client = new CodecClient(here);
    const waiting = [client.encodeText("x", false), client.encodeText("y", true), client.encodeText("z", false)];
    const gone = new Error("gone");
    client.fail(gone);
    for (const one of waiting) await expect(one).rejects.toBe(gone);
    await expect(client.encodeText("y", false)).rejects.toBe(gone);
  });
});
