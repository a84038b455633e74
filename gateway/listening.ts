import { EnvironmentError } from "../src/core/errors.ts";
import type { Peer } from "./http/peer.ts";

/** Where a gateway listens. */
export interface ListenOptions {
  /** Address of the network card; loopback unless others shall reach it. */
  host: string;
  /** 0: any free one. */
  port: number;
  /** Certificate and key as PEM, to listen over TLS; absent: plain HTTP. */
  tls?: { cert: string; key: string };
}

/** What a server serves. */
export interface ServedApp {
  fetch(request: Request, peer?: Peer): Response | Promise<Response>;
  /** Refuses new calls and waits for those under way, at most `limitMs`. */
  drain(limitMs: number): Promise<unknown>;
}

/** A gateway that listens. */
export interface ServedGateway {
  /** Without a slash at the end. */
  url: string;
  /** Stops listening, lets calls under way end for at most `limitMs`, and closes what is left. */
  close(limitMs: number): Promise<void>;
}

/** How long replies on their way may take after the last call has ended, before their connections are cut. */
export const lastRepliesMs = 500;

/** The address with the host as it stands in URLs. */
export function urlOf(host: string, port: number, scheme: "http" | "https" = "http"): string {
  return `${scheme}://${host.includes(":") ? `[${host}]` : host}:${port}`;
}

/** A system's fault in a reader's words; Deno names some by their class alone. */
function listenFault(cause: unknown): { reason: string; advice: string } {
  const { code, name } = cause as { code?: unknown; name?: unknown };
  if (code === "EADDRINUSE" || name === "AddrInUse") {
    return { reason: "another program has that port", advice: "Pass another --port, or end that program." };
  }
  if (code === "EACCES" || name === "PermissionDenied") {
    return { reason: "this user may not open that port", advice: "Pass a --port of 1024 or more." };
  }
  const reason = cause instanceof Error ? cause.message : String(cause);
  return { reason, advice: "Pass another --host or --port." };
}

/** Why a gateway could not listen. */
export function cannotListen({ host, port }: ListenOptions, cause: unknown): EnvironmentError {
  const { reason, advice } = listenFault(cause);
  return new EnvironmentError("cannot_listen", `Cannot listen on ${host}:${port}: ${reason}.`, { do: advice, cause });
}
