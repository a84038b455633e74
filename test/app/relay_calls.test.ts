/** The tab's end of a relay, without a browser: what it cannot read or send costs one call, and programs are waited for. */
import { describe, expect, it, vi } from "vitest";
import { RelayCalls, type RelayCounts } from "../../src/app/page/relay_calls.ts";
import { encodeRelayFrame, mostHeaders, type RelayFrame, relayWindowBytes } from "../../src/schema/relay.ts";

/** Calls that a function answers, and what was sent back. */
function open(answer: (path: string, init?: RequestInit) => Response | Promise<Response>) {
  const sent: { frame: RelayFrame; size: number }[] = [];
  let counts: RelayCounts = { answered: 0, unread: 0 };
  const calls = new RelayCalls({
    backend: {
      fetch: async (path, init) => (path === "/api/rollouts" ? Response.json([]) : await answer(path, init)),
    },
    send(frame, payload) {
      // As the socket does: what cannot be sent throws.
      encodeRelayFrame(frame, payload);
      sent.push({ frame, size: payload?.length ?? 0 });
    },
    welcomed: () => {},
    counted: (next) => {
      counts = next;
    },
  });
  const ask = (id: number, path = "/v1/x"): void =>
    calls.receive(encodeRelayFrame({ kind: "request", id, method: "POST", path, headers: [] }));
  return { calls, sent, ask, counts: () => counts, kinds: () => sent.map(({ frame }) => frame.kind) };
}

const line = (value: unknown) => new TextEncoder().encode(`${JSON.stringify(value)}\n`);

describe("a tab behind a relay", () => {
  it("fails the call of a message that it cannot read, counts it, and answers the next", async () => {
    const tab = open(() => new Response("fine"));
    const headers = Array.from({ length: mostHeaders + 1 }, (_, i) => [`x-${i}`, "1"]);
    tab.calls.receive(line({ kind: "request", id: 7, method: "POST", path: "/v1/x", headers }));
    expect(tab.sent).toEqual([
      { frame: { kind: "fail", id: 7, message: expect.stringMatching(/^A message of \d+ bytes is none of/) }, size: 0 },
    ]);
    tab.calls.receive(new TextEncoder().encode("nonsense"));
    tab.calls.receive(new Uint8Array(0));
    expect(tab.sent).toHaveLength(1);
    expect(tab.counts()).toEqual({ answered: 0, unread: 3 });
    tab.ask(8);
    await vi.waitFor(() => expect(tab.kinds()).toEqual(["fail", "head", "chunk", "end"]));
    expect(tab.counts()).toEqual({ answered: 1, unread: 3 });
  });

  it("fails a call whose answer cannot be sent, and lets go of the answer", async () => {
    let signal: AbortSignal | null | undefined;
    const tab = open((_, init) => {
      signal = init?.signal;
      return new Response("x", { headers: Array.from({ length: mostHeaders + 1 }, (_, i) => [`x-${i}`, "1"]) });
    });
    tab.ask(1);
    await vi.waitFor(() => expect(tab.kinds()).toEqual(["fail"]));
    expect(tab.sent[0]?.frame).toMatchObject({ message: "A message of the kind head cannot be sent." });
    expect(signal?.aborted).toBe(true);
  });

  it("sends no more of an answer than its program takes", async () => {
    const whole = 3 * relayWindowBytes + 5;
    const tab = open(() => new Response(new Uint8Array(whole)));
    const bytes = () => tab.sent.reduce((sum, { size }) => sum + size, 0);
    tab.ask(1);
    await vi.waitFor(() => expect(bytes()).toBe(relayWindowBytes));
    tab.calls.receive(encodeRelayFrame({ kind: "taken", id: 1, bytes: 1000 }));
    await vi.waitFor(() => expect(bytes()).toBe(relayWindowBytes + 1000));
    tab.calls.receive(encodeRelayFrame({ kind: "taken", id: 1, bytes: 2 * relayWindowBytes }));
    await vi.waitFor(() => expect(tab.kinds().at(-1)).toBe("end"));
    expect(bytes()).toBe(whole);
  });

  it("lets go of an answer whose program has gone while it waits", async () => {
    let isCancelled = false;
    const tab = open((_, init) => {
      const body = new ReadableStream<Uint8Array>({ pull: (to) => to.enqueue(new Uint8Array(relayWindowBytes)) });
      init?.signal?.addEventListener("abort", () => {
        isCancelled = true;
      });
      return new Response(body);
    });
    tab.ask(1);
    await vi.waitFor(() => expect(tab.sent.length).toBeGreaterThan(4));
    const before = tab.sent.length;
    tab.calls.receive(encodeRelayFrame({ kind: "cancel", id: 1 }));
    expect(isCancelled).toBe(true);
    tab.calls.receive(encodeRelayFrame({ kind: "taken", id: 1, bytes: relayWindowBytes }));
    await new Promise((resolve) => setTimeout(resolve, 10));
    expect(tab.sent).toHaveLength(before);
    expect(tab.counts().answered).toBe(0);
  });
});
