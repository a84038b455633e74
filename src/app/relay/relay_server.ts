import { createServer, type IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { getRequestListener } from "@hono/node-server";
import { type WebSocket, WebSocketServer } from "ws";
import { urlOf } from "../../../gateway/listening.ts";
import { listenOn } from "../../../gateway/serve_node.ts";
import { relaySocketPath } from "../../schema/relay.ts";
import type { Relay } from "./relay.ts";
import type { RelaySocket } from "./tab_link.ts";

/** A relay that listens. */
export interface ServedRelay {
  /** Without a slash at the end. */
  readonly url: string;
  close(): Promise<void>;
}

/** Largest message of a tab: a piece of an answer. */
const mostMessageBytes = 64 * 2 ** 20;

function asRelaySocket(socket: WebSocket): RelaySocket {
  // A frame that breaks the protocol or is too long: the connection is closed by it, which onClose tells.
  socket.on("error", () => socket.terminate());
  return {
    send: (bytes) => socket.send(bytes),
    close: (code, reason) => socket.close(code, reason),
    onMessage: (receive) => {
      socket.on("message", (data) => receive(new Uint8Array(data as ArrayBuffer)));
    },
    onClose: (closed) => {
      socket.on("close", closed);
    },
  };
}

/** Serves a relay on this computer only. @throws EnvironmentError "cannot_listen" */
export async function serveRelay(relay: Relay, port: number): Promise<ServedRelay> {
  const host = "127.0.0.1";
  const server = createServer(getRequestListener((request) => relay.fetch(request), { hostname: host }));
  const sockets = new WebSocketServer({ noServer: true, maxPayload: mostMessageBytes });
  let url = "";
  server.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    // Nobody else listens to a socket that Node has let go of: whoever resets it ends their connection, and no more.
    socket.on("error", () => socket.destroy());
    if (request.url !== relaySocketPath || !isOwn(request, url) || request.headers.origin !== originOf(request)) {
      socket.end("HTTP/1.1 403 Forbidden\r\nconnection: close\r\n\r\n");
      return;
    }
    sockets.handleUpgrade(request, socket, head, (opened) => {
      opened.binaryType = "arraybuffer";
      relay.accept(asRelaySocket(opened));
    });
  });
  url = urlOf(host, await listenOn(server, { host, port }));
  return {
    url,
    async close() {
      relay.close();
      sockets.close();
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      await closed;
    },
  };
}

/** Origin of the page that this relay serves under the name it was asked by. */
function originOf({ headers }: IncomingMessage): string {
  return `http://${headers.host}`;
}

/** True when the host that a browser thinks it talks to is this one: a name that was pointed here later is not. */
function isOwn({ headers }: IncomingMessage, url: string): boolean {
  const { port } = new URL(url);
  return headers.host === `127.0.0.1:${port}` || headers.host === `localhost:${port}`;
}
