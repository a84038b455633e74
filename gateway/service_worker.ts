/**
 * The service worker of a tab: requests below `gateway/` beside this script go through a port to the tab's host and come
 * back as they are answered. It keeps nothing: when the browser has stopped it, it asks its pages for a port again.
 */
import { PortClient, portRequest } from "./port/port_client.ts";

/** What of a service worker's global scope is used; TypeScript's own types for it exclude those of pages. */
interface ServiceWorkerScope {
  readonly registration: { readonly scope: string };
  readonly clients: {
    claim(): Promise<void>;
    matchAll(options: object): Promise<readonly { postMessage(message: unknown): void }[]>;
  };
  skipWaiting(): Promise<void>;
  addEventListener(type: "install" | "activate", run: (event: LifeEvent) => void): void;
  addEventListener(type: "fetch", run: (event: RequestEvent) => void): void;
  addEventListener(type: "message", run: (event: MessageEvent<PortOffer>) => void): void;
}

interface LifeEvent {
  waitUntil(work: Promise<unknown>): void;
}

interface RequestEvent extends LifeEvent {
  readonly request: Request;
  respondWith(response: Promise<Response>): void;
}

/** From a page: a way to its host. */
interface PortOffer {
  readonly kind?: string;
  readonly port?: MessagePort;
}

/** Pages have so long to answer for their port after this worker was started again. */
const portWaitMs = 5_000;
/**
 * A browser ends a worker that holds a response for some five minutes; a call that is answered as a whole is told to come
 * again before that. Streams begin within 20 s and then are kept alive by the gateway.
 */
const holdMs = 240_000;

const scope = globalThis as unknown as ServiceWorkerScope;
const prefix = new URL("gateway", scope.registration.scope).href;
let client: PortClient | null = null;
/** Id of the page that has given it. */
let giver: string | null = null;
let arrived: ((client: PortClient) => void)[] = [];

scope.addEventListener("install", (event) => event.waitUntil(scope.skipWaiting()));
scope.addEventListener("activate", (event) => event.waitUntil(scope.clients.claim()));
scope.addEventListener("message", ({ data, source }) => {
  if (data.kind === "leyden_claim") void scope.clients.claim();
  if (data.kind !== "leyden_gateway_port" || data.port === undefined) return;
  const { id = null } = (source ?? {}) as { readonly id?: string };
  // A page that slept answers all that it was asked meanwhile: what it has begun to answer goes on.
  if (id !== null && id === giver) client?.retire();
  else client?.close(new TypeError("Another page has taken over."));
  client = new PortClient(data.port);
  giver = id;
  for (const give of arrived.splice(0)) give(client);
});
scope.addEventListener("fetch", (event) => {
  const { url } = event.request;
  if (url.startsWith(`${prefix}/`)) event.respondWith(forward(event.request, url.slice(prefix.length)));
});

async function forward(request: Request, path: string): Promise<Response> {
  const stop = new AbortController();
  request.signal.addEventListener("abort", () => stop.abort(request.signal.reason), { once: true });
  const late = setTimeout(() => stop.abort(new HeldTooLong()), holdMs);
  try {
    const { method, headers, body } = await portRequest(request);
    const gateway = client ?? (await askForPort());
    return await gateway.fetch({ method, url: `https://gateway.invalid${path}`, headers, body }, stop.signal);
  } catch (thrown) {
    if (request.signal.aborted) throw thrown;
    return thrown instanceof HeldTooLong ? comeAgain("held", held) : comeAgain("tab_away", tabAway);
  } finally {
    clearTimeout(late);
  }
}

class HeldTooLong extends Error {}

/** What happened, and what to do about it. */
type Refusal = readonly [message: string, advice: string];

const held: Refusal = [
  `The tab with the model has not answered within ${holdMs / 1000} s, and a browser lets no call wait longer: it was asleep, or is busy.`,
  "Keep that tab visible and ask again; a call with stream: true may take longer once it has begun.",
];
const tabAway: Refusal = [
  "No tab answers for this gateway: the page with the model is closed, or asleep.",
  "Open it, or bring its tab to the front, and ask again.",
];

/** A refusal that clients answer by asking again. Most of them show the message alone, so that it has the advice too. */
function comeAgain(code: string, [message, advice]: Refusal): Response {
  const error = { message: `${message} ${advice}`, type: "server_error", code, do: advice };
  return Response.json({ error }, { status: 503, headers: { "retry-after": "1" } });
}

/** Asks every page for the port of its host. @throws Error when none answers */
async function askForPort(): Promise<PortClient> {
  const pages = await scope.clients.matchAll({ type: "window", includeUncontrolled: true });
  return await new Promise((resolve, reject) => {
    const late = setTimeout(() => {
      arrived = arrived.filter((waiting) => waiting !== give);
      reject(new Error("no page"));
    }, portWaitMs);
    const give = (given: PortClient): void => {
      clearTimeout(late);
      resolve(given);
    };
    arrived.push(give);
    for (const page of pages) page.postMessage({ kind: "leyden_gateway_port_wanted" });
  });
}
