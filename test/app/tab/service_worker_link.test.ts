// Plan: a service worker that is at work, one that asks for its port again, and each way in which there is none.
import { afterEach, describe, expect, it, vi } from "vitest";
import { linkServiceWorker } from "../../../src/app/tab/service_worker_link.ts";

const script = new URL("https://page.example/leyden/sw.js");

interface Posted {
  readonly kind: string;
  readonly port: MessagePort;
}

/** A browser's service workers, of which one is at work or none comes. */
class FakeContainer extends EventTarget {
  readonly given: Posted[] = [];
  controller: object | null = { postMessage: (message: Posted) => void this.given.push(message) };
  refusal: Error | null = null;

  async register(): Promise<object> {
    if (this.refusal !== null) throw this.refusal;
    return { scope: "https://page.example/leyden/", active: null };
  }

  startMessages(): void {}

  asks(): void {
    const data = { kind: "leyden_gateway_port_wanted" };
    this.dispatchEvent(Object.assign(new Event("message"), { data, source: this.controller }));
  }
}

function browserWith(serviceWorker: FakeContainer | undefined): MessagePort[] {
  vi.stubGlobal("navigator", { serviceWorker });
  return [];
}

afterEach(() => {
  vi.unstubAllGlobals();
  vi.useRealTimers();
});

describe("the service worker's link", () => {
  it("gives a port to the one at work, and another whenever it asks, until it is closed", async () => {
    const container = new FakeContainer();
    const ports = browserWith(container);
    const link = await linkServiceWorker(script, (port) => ports.push(port));
    expect(link.gatewayUrl).toBe("https://page.example/leyden/gateway");
    container.asks();
    expect([ports.length, container.given.map(({ kind }) => kind)]).toEqual([
      2,
      ["leyden_gateway_port", "leyden_gateway_port"],
    ]);
    link.close();
    container.asks();
    expect(container.given).toHaveLength(2);
    for (const port of [...ports, ...container.given.map((posted) => posted.port)]) port.close();
  });

  it.each([
    ["a browser without any", undefined, "this browser has none"],
    [
      "a certificate that was clicked through",
      Object.assign(new FakeContainer(), { refusal: new DOMException("An SSL certificate error occurred.") }),
      "An SSL certificate error occurred.",
    ],
  ])("says so of %s", async (_, container, reason) => {
    browserWith(container);
    await expect(linkServiceWorker(script, () => {})).rejects.toMatchObject({
      code: "no_service_worker",
      message: `No service worker answers for the gateway (${reason}): agents reach it by their fetch alone.`,
      do: "Allow this page to store files.",
    });
  });

  it("says so of one that is not at work in time", async () => {
    vi.useFakeTimers();
    browserWith(Object.assign(new FakeContainer(), { controller: null }));
    const linked = linkServiceWorker(script, () => {});
    const refused = expect(linked).rejects.toThrow("(it was not at work within 10 s)");
    await vi.advanceTimersByTimeAsync(10_000);
    await refused;
  });
});
