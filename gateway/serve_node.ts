/** The gateway on Node's HTTP server. */
import { createServer } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo, Server } from "node:net";
import { getRequestListener } from "@hono/node-server";
import {
  cannotListen,
  type ListenOptions,
  lastRepliesMs,
  type ServedApp,
  type ServedGateway,
  urlOf,
} from "./listening.ts";

/** How long an idle connection is kept, as Agent Lightning's gateway does. */
const keepAliveMs = 120_000;

/** Starts listening. @throws EnvironmentError "cannot_listen" */
export async function serveNode(app: ServedApp, options: ListenOptions): Promise<ServedGateway> {
  const listener = getRequestListener(
    (request, { incoming }) => app.fetch(request, { address: incoming.socket?.remoteAddress ?? null }),
    {
      hostname: options.host,
    },
  );
  const { tls } = options;
  const server = tls === undefined ? createServer(listener) : createTlsServer({ ...tls }, listener);
  server.keepAliveTimeout = keepAliveMs;
  const port = await listenOn(server, options);
  return {
    url: urlOf(options.host, port, tls === undefined ? "http" : "https"),
    async close(limitMs) {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      await app.drain(limitMs);
      // A connection is idle once its last reply has been written, which takes a moment.
      const sweep = setInterval(() => server.closeIdleConnections(), 10);
      const cut = setTimeout(() => server.closeAllConnections(), lastRepliesMs);
      await closed;
      clearInterval(sweep);
      clearTimeout(cut);
    },
  };
}

/**
 * Has a server of Node's listen; its port. A connection that cannot be accepted later, for lack of file handles say,
 * costs that connection and not the process. @throws EnvironmentError "cannot_listen"
 */
export async function listenOn(server: Server, options: ListenOptions): Promise<number> {
  const listening = Promise.withResolvers<void>();
  server.on("error", listening.reject);
  server.listen(options.port, options.host, () => listening.resolve());
  try {
    await listening.promise;
  } catch (cause) {
    throw cannotListen(options, cause);
  }
  return (server.address() as AddressInfo).port;
}
