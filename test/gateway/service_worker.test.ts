// The service worker of a tab in a scope of the test's: what it forwards, and what it says when nobody answers in time.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { servePort } from "../../gateway/serve_port.ts";

const scopeUrl = "https://host.example/page/";
type Listener = (event: never) => void;
const listeners = new Map<string, Listener>();
const asked: unknown[] = [];
let pages: { postMessage(message: unknown): void }[] = [];
const ends: (() => void)[] = [];

beforeAll(async () => {
  const scope = {
    registration: { scope: scopeUrl },
    clients: { claim: async () => {}, matchAll: async () => pages },
    skipWaiting: async () => {},
    addEventListener: (type: string, run: Listener) => void listeners.set(type, run),
  };
  for (const [name, value] of Object.entries(scope)) vi.stubGlobal(name, value);
  await import("../../gateway/service_worker.ts");
});
afterAll(() => vi.unstubAllGlobals());
beforeEach(() => {
  asked.length = 0;
  pages = [{ postMessage: (message) => void asked.push(message) }];
});
afterEach(() => {
  vi.useRealTimers();
  for (const end of ends.splice(0)) end();
});

/** Gives the service worker a port to a gateway, as a page does. */
function offerGateway(answer: (request: Request) => Response | Promise<Response>): void {
  const { port1, port2 } = new MessageChannel();
  ends.push(servePort({ fetch: answer }, port1), () => port2.close());
  listeners.get("message")?.({ data: { kind: "leyden_gateway_port", port: port2 } } as never);
}

/** What the service worker answers; null when it leaves the request to the network. */
function request(url: string, init?: RequestInit): Promise<Response> | null {
  let answered: Promise<Response> | null = null;
  const respondWith = (response: Promise<Response>) => {
    answered = response;
  };
  listeners.get("fetch")?.({ request: new Request(url, init), respondWith } as never);
  return answered;
}

describe("the service worker", () => {
  it("asks its pages for the port when it has none, and says that nobody answers", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const response = request(`${scopeUrl}gateway/v1/models`);
    await vi.waitFor(() => expect(asked).toEqual([{ kind: "leyden_gateway_port_wanted" }]));
    await vi.advanceTimersByTimeAsync(5_000);
    const { status, headers } = (await response) as Response;
    expect([status, headers.get("retry-after")]).toEqual([503, "1"]);
    const body = (await ((await response) as Response).json()) as { error: { code: string } };
    expect(body.error.code).toBe("tab_away");
  });

  it("forwards what lies below gateway/ with method, headers and body, and leaves the rest alone", async () => {
    offerGateway(async (got) => {
      const { method, url, headers } = got;
      return Response.json([method, url, headers.get("authorization"), await got.text()], { status: 201 });
    });
    const init = { method: "POST", headers: { authorization: "Bearer k" }, body: "said" };
    const response = await request(`${scopeUrl}gateway/v1/chat/completions?x=1`, init);
    const url = "https://gateway.invalid/v1/chat/completions?x=1";
    expect([response?.status, await response?.json()]).toEqual([201, ["POST", url, "Bearer k", "said"]]);
    expect(request(`${scopeUrl}index.html`)).toBe(null);
    expect(request(`${scopeUrl}gatewayed/x`)).toBe(null);
  });

  it("takes the newest port: another page has taken over", async () => {
    offerGateway(() => new Response("first"));
    offerGateway(() => new Response("newest"));
    expect(await (await request(`${scopeUrl}gateway/x`))?.text()).toBe("newest");
  });

  it("tells a call that is held too long to come again, and ends it at the gateway", async () => {
    let ended = false;
    offerGateway(
      (got) =>
        new Promise((_, reject) => {
          got.signal.addEventListener("abort", () => {
            ended = true;
            reject(got.signal.reason);
          });
        }),
    );
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const response = request(`${scopeUrl}gateway/v1/chat/completions`, { method: "POST", body: "{}" });
    await vi.advanceTimersByTimeAsync(0);
    await new Promise((resolve) => setImmediate(resolve));
    await vi.advanceTimersByTimeAsync(239_000);
    expect(ended).toBe(false);
    await vi.advanceTimersByTimeAsync(1_000);
    const { status, headers } = (await response) as Response;
    expect([status, headers.get("retry-after")]).toEqual([503, "1"]);
    await vi.waitFor(() => expect(ended).toBe(true));
  });
});
