import { EnvironmentError } from "../src/core/errors.ts";

/** Where a gateway listens. */
export interface ListenOptions {
  /** Address of the network card; loopback unless others shall reach it. */
  host: string;
  /** 0: any free one. */
  port: number;
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
export function urlOf(host: string, port: number): string {
  return `http://${host.includes(":") ? `[${host}]` : host}:${port}`;
}

/** Why a gateway could not listen. */
export function cannotListen({ host, port }: ListenOptions, cause: unknown): EnvironmentError {
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new EnvironmentError("cannot_listen", `The gateway cannot listen on ${host}:${port}: ${reason}.`, {
    do: "Pass another --host or --port; --port 0 takes a free one.",
    cause,
  });
}
