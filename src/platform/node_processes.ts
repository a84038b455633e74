import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { closeSync, openSync, statSync, writeSync } from "node:fs";
import type { Readable } from "node:stream";
import { EnvironmentError } from "../core/errors.ts";
import type { KillSignal, ProcessExit, ProcessHandle, ProcessHost, SpawnOptions } from "../schema/process_host.ts";
import { type GroupKiller, systemGroupKiller } from "./process_group.ts";
import { killMarked, markVariable } from "./process_marks.ts";
import { Watchdog } from "./process_watchdog.ts";

const defaultOutputLimitBytes = 64 * 2 ** 20;
/** After the process has ended, its pipes count as drained once silent for this many of these intervals. */
const drainIntervalMs = 50;
const drainIntervals = 5;

/** What the child wrote: to files, up to a limit, counted. */
class OutputSink {
  bytes = 0;
  overflowed = false;
  error: string | null = null;
  /** Chunks received so far; tells whether the pipes are still moving. */
  chunks = 0;
  private readonly limit: number;
  private readonly onOverflow: () => void;

  constructor(limit: number, onOverflow: () => void) {
    this.limit = limit;
    this.onOverflow = onOverflow;
  }

  /** Copies the stream to the descriptor until it ends; the descriptor is closed by the caller. */
  copy(stream: Readable, descriptor: number): void {
    stream.on("data", (chunk: Buffer) => {
      this.chunks++;
      if (this.overflowed) return;
      const kept = chunk.subarray(0, this.limit - this.bytes);
      this.bytes += kept.length;
      this.write(descriptor, kept);
      if (kept.length === chunk.length) return;
      this.overflowed = true;
      this.onOverflow();
    });
    stream.on("error", (error) => {
      this.error ??= error.message;
    });
  }

  private write(descriptor: number, chunk: Buffer): void {
    try {
      let done = 0;
      while (done < chunk.length) done += writeSync(descriptor, chunk, done);
    } catch (thrown) {
      // A full disk must not take the whole program down: the process runs on, the loss is reported.
      this.error ??= thrown instanceof Error ? thrown.message : String(thrown);
    }
  }
}

function environment(options: SpawnOptions, mark: string): Record<string, string | undefined> {
  const inherit = options.inheritEnv ?? "all";
  const own = { ...options.env, [markVariable]: mark };
  if (inherit === "all") return { ...process.env, ...own };
  const kept = inherit === "none" ? [] : inherit.map((name) => [name, process.env[name]] as const);
  return { ...Object.fromEntries(kept.filter(([, value]) => value !== undefined)), ...own };
}

function spawnError(command: string, options: SpawnOptions, thrown: unknown): EnvironmentError {
  const data = { command, cwd: options.cwd };
  if (options.cwd !== undefined && statSync(options.cwd, { throwIfNoEntry: false })?.isDirectory() !== true) {
    const message = `Could not start "${command}": its working folder ${options.cwd} does not exist.`;
    return new EnvironmentError("spawn_failed", message, { do: "Check the working folder.", cause: thrown, data });
  }
  const code = (thrown as { code?: unknown } | null)?.code;
  const reason =
    code === "ENOENT" ? "there is no such program" : code === "EACCES" ? "it may not be run" : String(code);
  return new EnvironmentError("spawn_failed", `Could not start "${command}": ${reason}.`, {
    do: "Check the command's name, PATH and permissions.",
    cause: thrown,
    data,
  });
}

/** Opens the log files; null drops that stream. @throws EnvironmentError "file_failed" */
function openLogs(options: SpawnOptions): [number | null, number | null] {
  const opened: (number | null)[] = [];
  try {
    for (const path of [options.stdoutFile, options.stderrFile])
      opened.push(path === undefined ? null : openSync(path, "a"));
  } catch (thrown) {
    closeLogs(opened);
    const reason = thrown instanceof Error ? thrown.message : String(thrown);
    throw new EnvironmentError("file_failed", `Could not open a log file: ${reason}.`, {
      do: "Make its folder first, and check its permissions.",
      cause: thrown,
    });
  }
  return [opened[0] ?? null, opened[1] ?? null];
}

function closeLogs(logs: readonly (number | null)[]): void {
  for (const descriptor of logs) if (descriptor !== null) closeSync(descriptor);
}

/**
 * Waits for the last output of a process that has ended. Children it left behind may hold the pipes open for ever, so
 * silence ends the wait too; it is counted in intervals of the event loop, so that a busy program loses nothing.
 */
async function drained(child: ChildProcess, sink: OutputSink, closed: Promise<void>): Promise<void> {
  let ended = false;
  void closed.then(() => {
    ended = true;
  });
  let seen = sink.chunks;
  for (let silent = 0; !ended && silent < drainIntervals; ) {
    await Promise.race([closed, new Promise((resolve) => setTimeout(resolve, drainIntervalMs))]);
    silent = sink.chunks === seen ? silent + 1 : 0;
    seen = sink.chunks;
  }
  child.stdout?.destroy();
  child.stderr?.destroy();
}

type Piping = "pipe" | "ignore";

function launch(
  command: string,
  args: readonly string[],
  options: SpawnOptions,
  logs: readonly (number | null)[],
  mark: string,
) {
  const stdio: Piping[] = [
    options.stdin === undefined ? "ignore" : "pipe",
    ...logs.map((log): Piping => (log === null ? "ignore" : "pipe")),
  ];
  // detached: the process leads a group of its own, which can be ended as a whole.
  const settings = { cwd: options.cwd, env: environment(options, mark), detached: true, windowsHide: true, stdio };
  const child = spawn(command, args, settings);
  const ended = new Promise<[number | null, string | null]>((resolve) => {
    child.once("exit", (code, signal) => resolve([code, signal]));
  });
  const closed = new Promise<void>((resolve) => child.once("close", () => resolve()));
  return { child, ended, closed };
}

/** What the processes of one host share. */
interface Host {
  readonly killGroup: GroupKiller;
  /** Marks of living processes by pid. */
  readonly living: Map<number, string>;
  readonly watchdog: Watchdog | null;
  nextMark(): string;
}

async function start(
  command: string,
  args: readonly string[],
  options: SpawnOptions,
  host: Host,
): Promise<ProcessHandle> {
  const logs = openLogs(options);
  const mark = host.nextMark();
  let launched: ReturnType<typeof launch>;
  try {
    launched = launch(command, args, options, logs, mark);
    await once(launched.child, "spawn");
  } catch (thrown) {
    closeLogs(logs);
    throw spawnError(command, options, thrown);
  }
  const { child, ended, closed } = launched;
  const pid = child.pid as number;
  host.living.set(pid, mark);
  host.watchdog?.add(pid);
  const kill = (signal: KillSignal): void => {
    host.killGroup(pid, signal);
    // What has left the group, into a session of its own say, is found by its mark.
    if (signal === "SIGKILL") killMarked(new Set([mark]), killProcess);
  };
  // What fails from here on shows in the exit; without a listener it would end this program.
  child.on("error", () => undefined);
  child.stdin?.on("error", () => undefined).end(options.stdin);
  const sink = new OutputSink(options.outputLimitBytes ?? defaultOutputLimitBytes, () => kill("SIGKILL"));
  const [stdoutLog, stderrLog] = logs;
  if (child.stdout !== null && stdoutLog !== null) sink.copy(child.stdout, stdoutLog);
  if (child.stderr !== null && stderrLog !== null) sink.copy(child.stderr, stderrLog);
  const exit = ended.then(async ([code, signal]): Promise<ProcessExit> => {
    await drained(child, sink, closed);
    closeLogs(logs);
    host.living.delete(pid);
    host.watchdog?.remove(pid);
    return { code, signal, outputBytes: sink.bytes, overflowed: sink.overflowed, outputError: sink.error };
  });
  return { pid, exit, kill };
}

function killProcess(pid: number): void {
  process.kill(pid, "SIGKILL");
}

/** Starts processes through node:child_process; `killGroup` is the system's way to end a tree. */
export function nodeProcessHost(killGroup: GroupKiller): ProcessHost {
  const living = new Map<number, string>();
  const hostMark = `${process.pid}-${randomBytes(8).toString("hex")}`;
  let started = 0;
  const host: Host = {
    killGroup,
    living,
    watchdog: process.platform === "win32" ? null : new Watchdog(hostMark),
    nextMark: () => `${hostMark}-${++started}`,
  };
  // Process groups outlive their parent: end them with it, or an interrupted run leaves agents behind.
  process.on("exit", () => {
    for (const pid of living.keys()) killGroup(pid, "SIGKILL");
    if (living.size > 0) killMarked(new Set(living.values()), killProcess);
  });
  return { spawn: (command, args, options = {}) => start(command, args, options, host) };
}

/** The process host of this system. */
export const systemProcesses: ProcessHost = nodeProcessHost(systemGroupKiller(process.platform));
