/** What a tab, or whoever pretends to be one, may get wrong: it costs one connection or one answer, never the relay. */
import { once } from "node:events";
import { connect } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Relay } from "../../src/app/relay/relay.ts";
import type { ServedRelay } from "../../src/app/relay/relay_server.ts";
import { mostHeaders, type RelayFrame, relaySocketPath, relayWindowBytes } from "../../src/schema/relay.ts";
import { resetUpgrades } from "../gateway/reset_upgrades.ts";
import { RelayRig } from "./relay_rig.ts";

let rig: RelayRig;
let relay: Relay;
let served: ServedRelay;

beforeAll(async () => {
  rig = await RelayRig.open();
  ({ relay, served } = rig);
});
afterAll(() => served.close());

const openTab: RelayRig["openTab"] = (...args) => rig.openTab(...args);
const call: RelayRig["call"] = (...args) => rig.call(...args);

/** Sends bytes that are no frame a WebSocket's end may send; resolves once the relay has ended the connection. */
async function breakProtocol(bytes: Uint8Array): Promise<void> {
  const { hostname, port, host } = new URL(served.url);
  const socket = connect(Number(port), hostname);
  const ended = new Promise<void>((resolve) => socket.on("close", () => resolve()));
  socket.on("error", () => undefined);
  const fields = ["connection: upgrade", "upgrade: websocket", "sec-websocket-version: 13"];
  const key = `sec-websocket-key: ${Buffer.alloc(16).toString("base64")}`;
  const head = [`GET ${relaySocketPath} HTTP/1.1`, `host: ${host}`, `origin: ${served.url}`, ...fields, key];
  socket.write(`${head.join("\r\n")}\r\n\r\n`);
  const [answer] = (await once(socket, "data")) as [Buffer];
  expect(answer.toString()).toMatch(/^HTTP\/1\.1 101 /);
  socket.write(bytes);
  await ended;
}

describe("a relay outlives", () => {
  /** A frame's first bytes: the last of a binary message, masked, of a length in 64 bits. */
  const longFrame = (length: bigint) => {
    const bytes = new DataView(new ArrayBuffer(14));
    bytes.setUint16(0, 0x82ff);
    bytes.setBigUint64(2, length);
    return new Uint8Array(bytes.buffer);
  };

  it.each([
    ["a message that is too long", longFrame(64n * 2n ** 20n + 1n)],
    ["a length that no number holds", longFrame(2n ** 62n)],
    ["a frame that is not masked", Uint8Array.of(0x82, 1, 0)],
    ["a frame of a kind that does not exist", Uint8Array.of(0x83, 0x80, 0, 0, 0, 0)],
  ])("%s", async (_, bytes) => {
    await breakProtocol(bytes);
    const tab = openTab(relay.nextToken, ({ frame }, send) => {
      if (frame.kind !== "request") return;
      send({ kind: "head", id: frame.id, status: 200, headers: [] });
      send({ kind: "end", id: frame.id });
    });
    await tab.welcome;
    expect((await call("/v1/messages")).status).toBe(200);
    tab.socket.close();
    await tab.closed;
  });

  it("connections that are reset while they are refused", async () => {
    await resetUpgrades(served.url, relaySocketPath, 300);
    expect((await fetch(`${served.url}/studio/`)).status).toBe(200);
  });

  it.each(["%zz", "%", "assets/%ff"])("the page's path %s", async (path) => {
    expect((await fetch(`${served.url}/studio/${path}`)).status).toBe(404);
    expect((await fetch(`${served.url}/studio/`)).status).toBe(200);
  });

  /** A tab that answers /wrong with these messages, and everything else in two halves, the second when told. */
  async function openWrongTab(frames: (id: number) => RelayFrame[]) {
    const second = Promise.withResolvers<void>();
    const cancelled: number[] = [];
    const tab = openTab(relay.nextToken, async ({ frame }, send) => {
      if (frame.kind === "cancel") cancelled.push(frame.id);
      if (frame.kind !== "request") return;
      const { id, path } = frame;
      if (path.endsWith("wrong")) {
        for (const one of frames(id)) send(one);
        return;
      }
      send({ kind: "head", id, status: 200, headers: [] });
      await second.promise;
      send({ kind: "chunk", id }, "whole");
      send({ kind: "end", id });
    });
    await tab.welcome;
    return { ...tab, cancelled, finish: () => second.resolve() };
  }

  it.each<[what: string, said: string, frames: (id: number) => RelayFrame[]]>([
    ["an end without a beginning", "went on with an answer not begun", (id) => [{ kind: "end", id }]],
    ["a piece without a beginning", "went on with an answer not begun", (id) => [{ kind: "chunk", id }]],
    [
      "a header's name that is none",
      "no name",
      (id) => [{ kind: "head", id, status: 200, headers: [["no name", "x"]] }],
    ],
    ["a header's value that is none", "a\\nb", (id) => [{ kind: "head", id, status: 200, headers: [["x", "a\nb"]] }]],
  ])("%s, which fails one answer", async (_, said, frames) => {
    const tab = await openWrongTab(frames);
    const other = await call("/v1/other");
    const failed = await call("/v1/wrong");
    const body = { error: { code: "tab_failed", message: expect.stringContaining("The tab"), type: "relay" } };
    const text = await failed.text();
    expect([failed.status, JSON.parse(text)]).toEqual([502, body]);
    expect(text).toContain(said);
    tab.finish();
    expect(await other.text()).toBe("whole");
    expect((await call("/v1/other")).status).toBe(200);
    expect(tab.cancelled).toHaveLength(1);
    tab.socket.close();
    await tab.closed;
  });

  it("a second beginning, which breaks one answer off", async () => {
    const head = (id: number): RelayFrame => ({ kind: "head", id, status: 200, headers: [] });
    const tab = await openWrongTab((id) => [head(id), head(id)]);
    const other = await call("/v1/other");
    await expect(call("/v1/wrong").then((response) => response.text())).rejects.toThrow();
    tab.finish();
    expect(await other.text()).toBe("whole");
    tab.socket.close();
    await tab.closed;
  });

  it("a tab that sends more than its program takes, which breaks one answer off", async () => {
    let sent = 0;
    const broken = Promise.withResolvers<void>();
    const tab = openTab(relay.nextToken, async ({ frame }, send) => {
      if (frame.kind === "cancel") broken.resolve();
      if (frame.kind !== "request") return;
      send({ kind: "head", id: frame.id, status: 200, headers: [] });
      const piece = "x".repeat(relayWindowBytes / 2);
      for (; sent < 40; sent++) send({ kind: "chunk", id: frame.id }, piece);
    });
    await tab.welcome;
    const slow = await call("/v1/slow");
    await broken.promise;
    await expect(slow.text()).rejects.toThrow();
    tab.socket.close();
    await tab.closed;
  });

  it("answers without a body", async () => {
    const tab = await openWrongTab((id) => [
      { kind: "head", id, status: 205, headers: [] },
      { kind: "end", id },
    ]);
    expect((await call("/v1/wrong")).status).toBe(205);
    tab.socket.close();
    await tab.closed;
  });
});

describe("a relay refuses", () => {
  const headers = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`x-${i}`, "1"]));

  it("a request of more headers than a tab takes, and passes on one that has as many", async () => {
    const seen: number[] = [];
    const tab = openTab(relay.nextToken, ({ frame }, send) => {
      if (frame.kind !== "request") return;
      seen.push(frame.headers.length);
      send({ kind: "head", id: frame.id, status: 200, headers: [] });
      send({ kind: "end", id: frame.id });
    });
    await tab.welcome;
    await call("/v1/messages");
    const [own = 0] = seen;
    expect((await call("/v1/messages", { headers: headers(mostHeaders - own) })).status).toBe(200);
    const refused = await call("/v1/messages", { headers: headers(mostHeaders - own + 1) });
    expect([refused.status, await refused.json()]).toEqual([
      431,
      {
        error: {
          message: "A request may have 200 headers; this one has 201.",
          type: "relay",
          code: "too_many_headers",
        },
      },
    ]);
    expect(seen).toEqual([own, mostHeaders]);
    tab.socket.close();
    await tab.closed;
  });
});
