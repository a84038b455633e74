/** The gateway on Deno's HTTP server. */
import {
  cannotListen,
  type ListenOptions,
  lastRepliesMs,
  type ServedApp,
  type ServedGateway,
  urlOf,
} from "./listening.ts";

/** What of Deno's server is used. */
interface DenoServer {
  addr: { port: number };
  finished: Promise<void>;
  shutdown(): Promise<void>;
}

interface DenoRuntime {
  serve(
    options: { hostname: string; port: number; signal: AbortSignal; onListen(): void; cert?: string; key?: string },
    handler: (request: Request, info: { remoteAddr: { hostname?: string } }) => Response | Promise<Response>,
  ): DenoServer;
}

/** Starts listening. @throws EnvironmentError "cannot_listen" */
export async function serveDeno(app: ServedApp, options: ListenOptions): Promise<ServedGateway> {
  const runtime = (globalThis as unknown as { Deno: DenoRuntime }).Deno;
  const stop = new AbortController();
  let server: DenoServer;
  try {
    const { host, port, tls } = options;
    const listen = { hostname: host, port, signal: stop.signal, onListen() {}, ...tls };
    server = runtime.serve(listen, (request, { remoteAddr }) =>
      app.fetch(request, { address: remoteAddr.hostname ?? null }),
    );
  } catch (cause) {
    throw cannotListen(options, cause);
  }
  return {
    url: urlOf(options.host, server.addr.port, options.tls === undefined ? "http" : "https"),
    async close(limitMs) {
      const closed = server.shutdown();
      await app.drain(limitMs);
      const timer = setTimeout(() => stop.abort(), lastRepliesMs);
      await closed;
      clearTimeout(timer);
    },
  };
}
