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

type Answer = (request: Request) => Response | Promise<Response>;

/** Gives the service worker a port to a gateway, as a page does, here one with an id; that answers from `wake` on. */
function offerSleeping(answer: Answer, id: string): { wake(): void } {
  const { port1, port2 } = new MessageChannel();
  ends.push(() => port2.close());
  listeners.get("message")?.({ data: { kind: "leyden_gateway_port", port: port2 }, source: { id } } as never);
  return { wake: () => void ends.push(servePort({ fetch: answer }, port1)) };
}

let offered = 0;

/** Gives the service worker a port to a gateway that answers: of a page of its own, if no other is named. */
function offerGateway(answer: Answer, id = `page ${++offered}`): void {
  offerSleeping(answer, id).wake();
}

/** What a client reads of a refusal. */
async function refusal(response: Response): Promise<unknown> {
  const { error } = (await response.json()) as { error: unknown };
  return [response.status, response.headers.get("retry-after"), error];
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
    const advice = "Open it, or bring its tab to the front, and ask again.";
    const message = `No tab answers for this gateway: the page with the model is closed, or asleep. ${advice}`;
    expect(await refusal((await response) as Response)).toEqual([
      503,
      "1",
      { code: "tab_away", type: "server_error", message, do: advice },
    ]);
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
    const advice = "Keep that tab visible and ask again; a call with stream: true may take longer once it has begun.";
    const what = "The tab with the model has not answered within 240 s, and a browser lets no call wait longer:";
    const message = `${what} it was asleep, or is busy. ${advice}`;
    expect(await refusal((await response) as Response)).toEqual([
      503,
      "1",
      { code: "held", type: "server_error", message, do: advice },
    ]);
    await vi.waitFor(() => expect(ended).toBe(true));
  });

  it("has the call answered that was asked again while the tab slept, once it wakes, and the one before ended", async () => {
    const signals: AbortSignal[] = [];
    const page = offerSleeping(async ({ signal }) => {
      signals.push(signal);
      await new Promise((resolve) => setImmediate(resolve));
      return new Response("awake");
    }, "page");
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const ask = () => request(`${scopeUrl}gateway/v1/chat/completions`, { method: "POST", body: "{}" });
    const first = ask();
    await new Promise((resolve) => setImmediate(resolve));
    await vi.advanceTimersByTimeAsync(240_000);
    expect((await first)?.status).toBe(503);
    const again = ask();
    await new Promise((resolve) => setImmediate(resolve));
    page.wake();
    expect(await (await again)?.text()).toBe("awake");
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, false]);
  });

  it("lets a page that offers several ports, as one does that slept, end what it has begun; another page ends it", async () => {
    const answers: ((response: Response) => void)[] = [];
    const slow = () => new Promise<Response>((resolve) => void answers.push(resolve));
    const ask = () => request(`${scopeUrl}gateway/x`);
    offerGateway(slow, "page");
    const begun = ask();
    await vi.waitFor(() => expect(answers.length).toBe(1));
    offerGateway(() => new Response("of the second port"), "page");
    expect(await (await ask())?.text()).toBe("of the second port");
    answers[0]?.(new Response("of the first port"));
    expect(await (await begun)?.text()).toBe("of the first port");
    offerGateway(slow, "page");
    const lost = ask();
    await vi.waitFor(() => expect(answers.length).toBe(2));
    offerGateway(() => new Response("of another page"), "other page");
    expect((await lost)?.status).toBe(503);
  });
});
