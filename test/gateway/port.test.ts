// HTTP over a message port: what a server would do, and that nothing is read that nobody waits for.
import { afterEach, describe, expect, it } from "vitest";
import { PortClient, portRequest } from "../../gateway/port/port_client.ts";
import { servePort } from "../../gateway/serve_port.ts";

const ends: (() => void)[] = [];
afterEach(() => {
  for (const end of ends.splice(0)) end();
});

type Answer = (request: Request) => Response | Promise<Response>;

/** A client of `answer` at the other end of a channel. */
function connected(answer: Answer): PortClient {
  const { port1, port2 } = new MessageChannel();
  const stop = servePort({ fetch: answer }, port2);
  const client = new PortClient(port1);
  ends.push(stop, () => client.close(new TypeError("over")));
  return client;
}

const ask = async (client: PortClient, path: string, init?: RequestInit, signal?: AbortSignal) =>
  client.fetch(await portRequest(new Request(`https://gateway.invalid${path}`, init)), signal);

/** Parts as a stream that counts how many were taken from it, and tells when it is cancelled. */
function counted(parts: readonly string[]) {
  const seen = { taken: 0, cancelled: false };
  const stream = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        const part = parts[seen.taken++];
        if (part === undefined) controller.close();
        else controller.enqueue(new TextEncoder().encode(part));
      },
      cancel() {
        seen.cancelled = true;
      },
    },
    { highWaterMark: 0 },
  );
  return { stream, seen };
}

const moment = () => new Promise((resolve) => setTimeout(resolve, 20));

describe("HTTP over a port", () => {
  it("carries method, address, headers, body, status and reply", async () => {
    const client = connected(async (request) => {
      const { method, url, headers } = request;
      const said = { method, url, key: headers.get("authorization"), body: await request.text() };
      return Response.json(said, { status: 201, statusText: "Made", headers: { "x-one": "1" } });
    });
    const headers = { authorization: "Bearer k" };
    const response = await ask(client, "/v1/x?y=1", { method: "POST", headers, body: "grün" });
    expect([response.status, response.statusText, response.headers.get("x-one")]).toEqual([201, "Made", "1"]);
    expect(await response.json()).toEqual({
      method: "POST",
      url: "https://gateway.invalid/v1/x?y=1",
      key: "Bearer k",
      body: "grün",
    });
  });

  it("answers several at once, those without a body too", async () => {
    const client = connected((request) =>
      new URL(request.url).pathname === "/none"
        ? new Response(null, { status: 204 })
        : new Response(request.url.slice(-1)),
    );
    const [none, one, two] = await Promise.all([ask(client, "/none"), ask(client, "/1"), ask(client, "/2")]);
    expect([none.status, await two.text(), await one.text()]).toEqual([204, "2", "1"]);
  });

  it("takes a part of a stream when it is read and not before", async () => {
    const { stream, seen } = counted(["a", "b", "c"]);
    const client = connected(() => new Response(stream));
    const reader = (await ask(client, "/stream")).body?.getReader();
    await moment();
    expect(seen.taken).toBe(0);
    const read = async () => new TextDecoder().decode((await reader?.read())?.value);
    expect([await read(), await read()]).toEqual(["a", "b"]);
    await moment();
    expect(seen.taken).toBe(2);
    expect([await read(), (await reader?.read())?.done]).toEqual(["c", true]);
  });

  it("ends at the source what is cancelled, before and after the head", async () => {
    const { stream, seen } = counted(["a", "b", "c"]);
    let stopped = false;
    const client = connected((request) => {
      if (new URL(request.url).pathname === "/stream") return new Response(stream);
      return new Promise((_, reject) => {
        request.signal.addEventListener("abort", () => {
          stopped = true;
          reject(request.signal.reason);
        });
      });
    });
    const response = await ask(client, "/stream");
    await response.body?.cancel();
    await moment();
    expect(seen.cancelled).toBe(true);
    const stop = new AbortController();
    const waiting = ask(client, "/never", {}, stop.signal);
    await moment();
    stop.abort(new Error("enough"));
    await expect(waiting).rejects.toThrow("enough");
    await moment();
    expect(stopped).toBe(true);
    await expect(ask(client, "/never", {}, AbortSignal.abort(new Error("before")))).rejects.toThrow("before");
  });

  it("fails as a lost connection does when the other end throws, before and within a reply", async () => {
    const client = connected((request) => {
      if (new URL(request.url).pathname === "/head") throw new Error("no head");
      const body = new ReadableStream({
        pull(controller) {
          controller.error(new Error("torn"));
        },
      });
      return new Response(body);
    });
    await expect(ask(client, "/head")).rejects.toThrow(new TypeError("no head"));
    const response = await ask(client, "/body");
    await expect(response.text()).rejects.toThrow(new TypeError("torn"));
  });

  it("leaves nobody waiting when it is closed", async () => {
    const client = connected(() => new Promise(() => {}));
    const waiting = ask(client, "/never");
    await moment();
    client.close(new TypeError("The tab was closed."));
    await expect(waiting).rejects.toThrow("The tab was closed.");
  });
});
