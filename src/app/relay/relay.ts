import { equalInConstantTime } from "../../../gateway/http/constant_time.ts";
import { type Entropy, hex } from "../../core/clock.ts";
import { asLeydenError, type LeydenError } from "../../core/errors.ts";
import { decodeUrlPart } from "../../core/url_part.ts";
import type { PageFiles } from "../../schema/page_files.ts";
import { pagePolicy } from "../../schema/page_policy.ts";
import { decodeRelayFrame, encodeRelayFrame, mostHeaders, relayCloseCodes } from "../../schema/relay.ts";
import { bodyOf, forwardedHeaders, forwardedPath, shownKeys } from "./forwarded.ts";
import { type RelaySocket, TabGoneError, TabLink } from "./tab_link.ts";

/** What a relay is made of. */
export interface RelayOptions {
  readonly entropy: Entropy;
  readonly page: PageFiles;
  /** The key that programs show. */
  readonly key: string;
  /** Tells the person one line. */
  say(line: string): void;
}

const pageRoot = "/studio/";
const mostBodyBytes = 64 * 2 ** 20;
/** Calls of programs at a time; more are told to come again. */
const mostWaiting = 256;

const guards = {
  "content-security-policy": `${pagePolicy()}; frame-ancestors 'none'`,
  "x-content-type-options": "nosniff",
  "cross-origin-resource-policy": "same-origin",
  "cache-control": "no-cache",
};

/** An answer of the relay's own, in the form that clients of model APIs read. */
function refusal(status: number, code: string, message: string, headers: Record<string, string> = {}): Response {
  return Response.json({ error: { message, type: "relay", code } }, { status, headers });
}

/** Serves the page on this computer, and sends the requests of programs to the tab that it is open in. */
export class Relay {
  private readonly options: RelayOptions;
  private link: TabLink | null = null;
  private token: string;

  constructor(options: RelayOptions) {
    this.options = options;
    this.token = this.newToken();
  }

  /** The token that the next connection must show; it opens one. */
  get nextToken(): string {
    return this.token;
  }

  /** Answers the browser's requests for the page and those of programs. */
  async fetch(request: Request): Promise<Response> {
    const url = new URL(request.url);
    if (!isOwnHost(url.hostname)) return refusal(403, "wrong_host", `This relay does not serve ${url.host}.`);
    if (url.pathname === "/" || url.pathname === "/studio") {
      return new Response(null, { status: 302, headers: { location: pageRoot } });
    }
    if (request.method === "GET" && url.pathname.startsWith(pageRoot)) return await this.pageFile(url.pathname);
    // Pages of other sites run in the same browser; programs send no origin.
    if (request.headers.has("origin")) return refusal(403, "foreign_origin", "Pages may not call the relay.");
    if (!shownKeys(request).some((key) => equalInConstantTime(key, this.options.key))) {
      return refusal(401, "wrong_key", "The key is not the one that leyden relay printed.");
    }
    return await this.forward(request, url);
  }

  /** Takes the connection of a page of its own; the first message is a token. */
  accept(socket: RelaySocket): void {
    let greeted = false;
    socket.onMessage((bytes) => {
      if (greeted) return;
      greeted = true;
      this.greet(socket, bytes);
    });
  }

  /** Ends the tab's connection. */
  close(): void {
    this.link?.close(1001, "the relay ends");
  }

  private newToken(): string {
    return hex(this.options.entropy.bytes(24));
  }

  private greet(socket: RelaySocket, bytes: Uint8Array): void {
    const shown = tokenIn(bytes);
    if (shown === null || !equalInConstantTime(shown, this.token)) {
      socket.close(relayCloseCodes.badToken, "the token is used or wrong");
      return;
    }
    this.token = this.newToken();
    this.link?.close(relayCloseCodes.replaced, "another tab has connected");
    const link = new TabLink(socket);
    this.link = link;
    socket.onClose(() => {
      if (this.link !== link) return;
      this.link = null;
      this.options.say("The tab has left; its page may be opened again.");
    });
    socket.send(encodeRelayFrame({ kind: "welcome", token: this.token }));
    this.options.say("The tab is connected.");
  }

  private async pageFile(pathname: string): Promise<Response> {
    const path = decodeUrlPart(pathname.slice(pageRoot.length));
    const file = path === null ? null : await this.options.page.get(path === "" ? "index.html" : path);
    if (file === null) return refusal(404, "not_found", "Not Found");
    const headers = { ...guards, "content-type": file.type, etag: file.etag };
    return new Response(file.bytes as Uint8Array<ArrayBuffer>, { headers });
  }

  private async forward(request: Request, url: URL): Promise<Response> {
    const { link } = this;
    if (link === null) return unavailable(new TabGoneError("No tab is connected to the relay."));
    if (link.waiting >= mostWaiting) return refusal(429, "busy", "Too many calls wait.", { "retry-after": "1" });
    const headers = forwardedHeaders(request.headers);
    if (headers.length > mostHeaders) {
      const message = `A request may have ${mostHeaders} headers; this one has ${headers.length}.`;
      return refusal(431, "too_many_headers", message);
    }
    const body = await bodyOf(request, mostBodyBytes);
    if (body === null) return refusal(413, "too_large", `A body may have ${mostBodyBytes} bytes.`);
    const sent = { method: request.method, path: forwardedPath(url), headers };
    try {
      return await link.ask(sent, body, request.signal);
    } catch (thrown) {
      return unavailable(asLeydenError(thrown));
    }
  }
}

function isOwnHost(hostname: string): boolean {
  return hostname === "127.0.0.1" || hostname === "localhost" || hostname === "[::1]";
}

function tokenIn(bytes: Uint8Array): string | null {
  try {
    const { frame } = decodeRelayFrame(bytes);
    return frame.kind === "hello" ? frame.token : null;
  } catch {
    return null;
  }
}

function unavailable(error: LeydenError): Response {
  const status = error.code === "tab_gone" ? 503 : 502;
  return refusal(status, error.code, `${error.message} ${error.do}`.trim(), { "retry-after": "2" });
}
