import type { Clock, Entropy, Env } from "../core/clock.ts";
import type { Files } from "./files.ts";
import type { ProcessHost } from "./process_host.ts";
import type { SqlDriver } from "./sql_driver.ts";

/** One end of a message channel between a worker and its owner; messages are structured clones. */
export interface WorkerPort {
  /** Sends a message; buffers and ports in `transfer` move instead of being copied. */
  post(message: unknown, transfer?: (ArrayBuffer | MessagePort)[]): void;
  /** Sets the one receiver. A worker sets it while its module is evaluated, before anything is awaited. */
  onMessage(receive: (message: unknown) => void): void;
}

/** A worker seen from its owner. */
export interface WorkerHandle extends WorkerPort {
  /** Sets the one receiver of the worker's death: an uncaught error or an unasked exit ("worker_failed"). */
  onError(receive: (error: Error) => void): void;
  /** Ends the worker at once. */
  terminate(): Promise<void>;
}

/** What every runtime offers. */
export interface Platform {
  readonly runtime: "node" | "deno" | "browser";
  readonly clock: Clock;
  readonly entropy: Entropy;
  readonly env: Env;
  readonly files: Files;
  /** The runtime's WebGPU, the same object on every call. @throws EnvironmentError "no_webgpu" */
  gpu(): Promise<GPU>;
  /** Starts a module as a worker. */
  spawnWorker(module: URL): WorkerHandle;
  /** Inside a worker: the way to its owner. @throws EnvironmentError "not_a_worker" elsewhere */
  workerPort(): WorkerPort;
}

/** The facts of the system that set-up and reports need. */
export interface SystemFacts {
  os: "linux" | "darwin" | "win32" | "other";
  /** Processor, as Node names it: "x64", "arm64". */
  arch: string;
  /** True for root; false on Windows, where it is not asked. */
  isRoot: boolean;
  /** Version of the runtime the program runs in, and that of Node's interface (Deno has both). */
  runtimeVersion: string;
  nodeVersion: string;
}

/** Standard streams, arguments and the end of the process. */
export interface Terminal {
  /** Arguments after the script's name. */
  readonly args: readonly string[];
  /** True when standard output is a screen. */
  readonly isScreen: boolean;
  /** Width of the screen in characters; 80 when it is none. */
  readonly columns: number;
  /** Writes to standard output, all of it before it returns; a closed pipe ends the process quietly, with 0. */
  out(text: string): void;
  /** Writes to standard error. */
  err(text: string): void;
  /**
   * From now on the process goes on when nobody reads what it writes, which is dropped: for work whose result is not what
   * it prints.
   */
  outliveReader(): void;
  /** Lines of standard input, to its end. */
  lines(): AsyncIterable<string>;
  /** Calls `stop` on SIGINT and SIGTERM until the returned function is called. */
  onStop(stop: (signal: "SIGINT" | "SIGTERM") => void): () => void;
  /** Calls `fail` for an error nobody caught. */
  onUncaught(fail: (error: unknown) => void): void;
  exit(code: number): never;
}

/** A platform with processes, SQL and a terminal: Node and Deno. */
export interface HostPlatform extends Platform {
  readonly runtime: "node" | "deno";
  readonly processes: ProcessHost;
  readonly sql: SqlDriver;
  readonly terminal: Terminal;
  readonly system: SystemFacts;
  /** Folder for what may be made again: LEYDEN_CACHE, else the user's cache folder. */
  readonly cacheFolder: string;
  /** The command line that runs a TypeScript file of ours in this same runtime. */
  scriptCommand(script: URL): readonly [command: string, ...args: string[]];
}
