/** A relay that listens, a tab that answers as a test says, and programs' calls. */
import { WebSocket } from "ws";
import { Relay } from "../../src/app/relay/relay.ts";
import { type ServedRelay, serveRelay } from "../../src/app/relay/relay_server.ts";
import { systemEntropy } from "../../src/platform/clock.ts";
import type { PageFiles } from "../../src/schema/page_files.ts";
import { decodeRelayFrame, encodeRelayFrame, type RelayFrame, relaySocketPath } from "../../src/schema/relay.ts";

/** The key of programs. */
export const key = "programs-key";

const page: PageFiles = {
  async get(path) {
    const html = new TextEncoder().encode("<!doctype html><title>page</title>");
    return path === "index.html" ? { bytes: html, type: "text/html; charset=utf-8", etag: '"1"' } : null;
  },
};

/** What a tab is asked. */
export type Received = { frame: RelayFrame; payload: string };

/** A tab's connection. */
export interface OpenTab {
  socket: WebSocket;
  /** The next token. */
  welcome: Promise<string>;
  /** The code it was closed with. */
  closed: Promise<number>;
}

export class RelayRig {
  readonly relay: Relay;
  readonly served: ServedRelay;

  private constructor(relay: Relay, served: ServedRelay) {
    this.relay = relay;
    this.served = served;
  }

  static async open(): Promise<RelayRig> {
    const relay = new Relay({ entropy: systemEntropy, page, key, say: () => {} });
    return new RelayRig(relay, await serveRelay(relay, 0));
  }

  get socketUrl(): string {
    return `${this.served.url.replace("http", "ws")}${relaySocketPath}`;
  }

  /** A tab: connects, and answers requests by a function. */
  openTab(
    token: string,
    answer: (request: Received, send: (frame: RelayFrame, payload?: string) => void) => void,
  ): OpenTab {
    const socket = new WebSocket(this.socketUrl, { origin: this.served.url });
    socket.binaryType = "arraybuffer";
    const welcome = Promise.withResolvers<string>();
    const closed = Promise.withResolvers<number>();
    const send = (frame: RelayFrame, text?: string): void =>
      socket.send(encodeRelayFrame(frame, text === undefined ? undefined : new TextEncoder().encode(text)));
    socket.on("open", () => send({ kind: "hello", token }));
    socket.on("close", (code) => {
      closed.resolve(code);
      welcome.reject(new Error(`closed ${code}`));
    });
    socket.on("message", (data) => {
      const { frame, payload } = decodeRelayFrame(new Uint8Array(data as ArrayBuffer));
      if (frame.kind === "welcome") welcome.resolve(frame.token);
      else answer({ frame, payload: new TextDecoder().decode(payload) }, send);
    });
    welcome.promise.catch(() => undefined);
    return { socket, welcome: welcome.promise, closed: closed.promise };
  }

  /** A program's call. */
  call(path: string, init: RequestInit = {}): Promise<Response> {
    return fetch(`${this.served.url}${path}`, {
      method: "POST",
      body: '{"messages":[]}',
      ...init,
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json", ...init.headers },
    });
  }
}
