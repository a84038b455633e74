/** How a process is started. */
export interface SpawnOptions {
  /** Working folder; default: the parent's. */
  cwd?: string;
  /** Variables set for the process, over those it inherits. */
  env?: Readonly<Record<string, string>>;
  /** Which of the parent's variables it inherits: all (default), none, or those named. */
  inheritEnv?: "all" | "none" | readonly string[];
  /** Files its output is appended to; without one the output is dropped. The folders above must exist. */
  stdoutFile?: string;
  stderrFile?: string;
  /** Text given on standard input, which is then closed; default: empty. */
  stdin?: string;
  /**
   * Bytes of stdout and stderr together after which its process group is killed and `overflowed` set; what came before
   * is kept. Default 64 MiB.
   */
  outputLimitBytes?: number;
}

/** How a process ended. Exactly one of code and signal is set. */
export interface ProcessExit {
  code: number | null;
  /** Name of the signal that ended it, "SIGKILL" say. */
  signal: string | null;
  /** Bytes it wrote to stdout and stderr, those past the limit left out. */
  outputBytes: number;
  /** True when it was killed for passing outputLimitBytes. */
  overflowed: boolean;
  /** Why some of its output could not be written to the files (a full disk, say); null when all was. */
  outputError: string | null;
}

/** Strength of a kill: ask (the process may clean up), or end at once. Windows knows only the latter. */
export type KillSignal = "SIGTERM" | "SIGKILL";

/** A started process, alone in its own process group. */
export interface ProcessHandle {
  pid: number;
  /** Resolves once it has ended and its output has been written; never rejects. */
  exit: Promise<ProcessExit>;
  /**
   * Signals the whole process group, children of children included. Works after the process itself has ended, when
   * children it left behind may live on; no effect when nothing is left.
   */
  kill(signal: KillSignal): void;
}

/** Starts other programs. */
export interface ProcessHost {
  /**
   * Starts a program found in PATH or by path; no shell.
   * @throws EnvironmentError "spawn_failed" when there is no such program or folder, or it may not be run
   */
  spawn(command: string, args: readonly string[], options?: SpawnOptions): Promise<ProcessHandle>;
}
