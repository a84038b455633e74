/** What passes between a tab's host and a web worker that runs an agent's script in a process's stead. */
import type { KillSignal } from "./process_host.ts";

/** To the worker: what to run, as a process gets it. The first message. */
export interface AgentStart {
  readonly kind: "agent_start";
  /** Address of an ECMAScript module; in a page that is one file a classic script itself. */
  readonly script: string | Blob;
  /** As in Node: program, script, arguments. */
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Text of standard input. */
  readonly stdin: string;
  readonly pid: number;
  /** Bytes of both outputs together after which nothing more is sent. */
  readonly outputLimitBytes: number;
  /** Requests to addresses that begin with `url` go through the port; null leaves fetch alone. */
  readonly gateway: { readonly url: string; readonly port: MessagePort } | null;
}

/** To the worker: a signal that its script has asked for. */
export interface AgentSignal {
  readonly kind: "agent_signal";
  readonly signal: KillSignal;
}

/** To the host. */
export type AgentReport =
  | { readonly kind: "agent_output"; readonly stream: "stdout" | "stderr"; readonly bytes: Uint8Array }
  /** The script has written more than it may: what was sent is all there is. */
  | { readonly kind: "agent_overflow" }
  /** The script listens for SIGTERM: it is asked before it is ended. */
  | { readonly kind: "agent_listens" }
  | { readonly kind: "agent_exit"; readonly code: number };
