import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import type { Relay } from "../../src/app/relay/relay.ts";
import type { ServedRelay } from "../../src/app/relay/relay_server.ts";
import {
  decodeRelayFrame,
  encodeRelayFrame,
  relayCloseCodes,
  relaySocketPath,
  relayWindowBytes,
} from "../../src/schema/relay.ts";
import { key, type Received, RelayRig } from "./relay_rig.ts";

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

describe("a relay", () => {
  it("serves the page and nothing else without a key", async () => {
    const root = await fetch(`${served.url}/`);
    expect(root.url).toBe(`${served.url}/studio/`);
    expect(await root.text()).toContain("<title>page</title>");
    expect(root.headers.get("content-security-policy")).toContain("frame-ancestors 'none'");
    expect((await fetch(`${served.url}/studio/none.js`)).status).toBe(404);
    expect((await fetch(`${served.url}/v1/models`)).status).toBe(401);
  });

  it("says that no tab is there, and refuses wrong keys, pages and hosts", async () => {
    const absent = await call("/v1/chat/completions");
    expect([absent.status, await absent.json()]).toMatchObject([
      503,
      { error: { code: "tab_gone", message: expect.stringContaining("Open the address that leyden relay printed") } },
    ]);
    expect((await call("/v1/models", { headers: { authorization: "Bearer no" } })).status).toBe(401);
    expect((await call("/v1/models", { headers: { origin: "https://elsewhere.example" } })).status).toBe(403);
    const rebound = new Request("http://evil.example/v1/models", { headers: { authorization: `Bearer ${key}` } });
    expect((await relay.fetch(rebound)).status).toBe(403);
  });

  it("forwards requests without their keys and streams the answers", async () => {
    const seen: Received[] = [];
    const gate = Promise.withResolvers<void>();
    const tab = openTab(relay.nextToken, async (request, send) => {
      seen.push(request);
      if (request.frame.kind !== "request") return;
      const { id } = request.frame;
      send({ kind: "head", id, status: 200, headers: [["content-type", "text/event-stream"]] });
      send({ kind: "chunk", id }, "data: one\n\n");
      await gate.promise;
      send({ kind: "chunk", id }, "data: 둘\n\n");
      send({ kind: "end", id });
    });
    await tab.welcome;
    const response = await call("/v1/chat/completions?key=secret&beta=true", { headers: { "x-extra": "kept" } });
    const reader = response.body?.getReader();
    expect(new TextDecoder().decode((await reader?.read())?.value)).toBe("data: one\n\n");
    gate.resolve();
    expect(new TextDecoder().decode((await reader?.read())?.value)).toBe("data: 둘\n\n");
    expect((await reader?.read())?.done).toBe(true);
    expect(seen[0]).toMatchObject({
      frame: { kind: "request", method: "POST", path: "/v1/chat/completions?beta=true" },
      payload: '{"messages":[]}',
    });
    const sent = seen[0]?.frame;
    const names = new Map(sent?.kind === "request" ? sent.headers : []);
    expect(names.get("x-extra")).toBe("kept");
    expect(names.has("authorization")).toBe(false);
    tab.socket.close();
    await tab.closed;
  });

  it("passes on an answer that is longer than its window, told what was taken", async () => {
    const whole = 5 * relayWindowBytes;
    const tab = openTab(
      relay.nextToken,
      (() => {
        let credit = relayWindowBytes;
        let left = whole;
        return ({ frame }, send) => {
          if (frame.kind === "request") send({ kind: "head", id: frame.id, status: 200, headers: [] });
          if (frame.kind === "taken") credit += frame.bytes;
          if (frame.kind !== "request" && frame.kind !== "taken") return;
          for (; credit > 0 && left > 0; ) {
            const size = Math.min(credit, left, 100_000);
            send({ kind: "chunk", id: frame.id }, "x".repeat(size));
            credit -= size;
            left -= size;
            if (left === 0) send({ kind: "end", id: frame.id });
          }
        };
      })(),
    );
    await tab.welcome;
    expect((await (await call("/v1/long")).text()).length).toBe(whole);
    tab.socket.close();
    await tab.closed;
  });

  it("takes a token once, and gives the connected tab the next", async () => {
    const first = relay.nextToken;
    const tab = openTab(first, () => undefined);
    const next = await tab.welcome;
    expect(next).not.toBe(first);
    expect(await openTab(first, () => undefined).closed).toBe(relayCloseCodes.badToken);
    const again = openTab(next, () => undefined);
    await again.welcome;
    expect(await tab.closed).toBe(relayCloseCodes.replaced);
    again.socket.close();
    await again.closed;
  });

  it("refuses connections of other origins and to other paths before they are open", async () => {
    const { host } = new URL(served.url);
    for (const [path, options] of [
      [relaySocketPath, { origin: "https://elsewhere.example" }],
      [relaySocketPath, { origin: served.url.replace("127.0.0.1", "localhost") }],
      [relaySocketPath, {}],
      [relaySocketPath, { origin: "http://evil.example", headers: { host: "evil.example" } }],
      ["/elsewhere", { origin: served.url }],
    ] as const) {
      const socket = new WebSocket(`ws://${host}${path}`, options);
      const ended = await new Promise<string>((resolve) => {
        socket.on("open", () => resolve("open"));
        socket.on("error", ({ message }) => resolve(message));
      });
      expect(ended, `${path} ${JSON.stringify(options)}`).toBe("Unexpected server response: 403");
    }
  });

  it("tells the tab when a program leaves, and the program when the tab does", async () => {
    const asked = Promise.withResolvers<void>();
    const cancelled = Promise.withResolvers<void>();
    const tab = openTab(relay.nextToken, ({ frame }) => {
      if (frame.kind === "request") asked.resolve();
      if (frame.kind === "cancel") cancelled.resolve();
    });
    await tab.welcome;
    const leaving = new AbortController();
    const left = call("/v1/messages", { signal: leaving.signal }).catch(() => "left");
    await asked.promise;
    leaving.abort();
    expect(await left).toBe("left");
    await cancelled.promise;
    const waiting = call("/v1/messages");
    await new Promise((resolve) => setTimeout(resolve, 50));
    tab.socket.close();
    expect((await waiting).status).toBe(503);
  });

  it("passes on that the tab failed, and ends a connection that talks nonsense", async () => {
    const tab = openTab(relay.nextToken, ({ frame }, send) => {
      if (frame.kind === "request") send({ kind: "fail", id: frame.id, message: "no model is open" });
    });
    await tab.welcome;
    const failed = await call("/v1/messages");
    expect([failed.status, await failed.text()]).toEqual([502, expect.stringContaining("no model is open")]);
    tab.socket.send("nonsense");
    expect(await tab.closed).toBe(relayCloseCodes.badMessage);
  });
});

describe("a relay's messages", () => {
  it("carry any bytes after their line", () => {
    const payload = new Uint8Array([10, 0, 255, 10]);
    expect(decodeRelayFrame(encodeRelayFrame({ kind: "chunk", id: 3 }, payload))).toEqual({
      frame: { kind: "chunk", id: 3 },
      payload,
    });
    expect(decodeRelayFrame(encodeRelayFrame({ kind: "end", id: 3 })).payload).toHaveLength(0);
  });

  it("that the other end would not read are not sent", () => {
    const headers = Array.from({ length: 201 }, (_, i) => [`x-${i}`, "1"] as const);
    expect(() => encodeRelayFrame({ kind: "head", id: 1, status: 200, headers })).toThrow(
      "A message of the kind head cannot be sent.",
    );
    expect(() => encodeRelayFrame({ kind: "head", id: 1, status: 101, headers: [] })).toThrow("cannot be sent");
  });

  it.each(["", "{}", '{"kind":"chunk"}', '{"kind":"request","id":1,"method":"GET","path":"//","headers":[1]}'])(
    "that are none are refused: %s",
    (text) => {
      expect(() => decodeRelayFrame(new TextEncoder().encode(text))).toThrow("is none of the relay's");
    },
  );
});
