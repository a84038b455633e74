import type { AgentReport, AgentStart } from "../../schema/agent_worker.ts";
import { consoleText } from "./console_text.ts";
import { type Listener, Listeners } from "./listeners.ts";

/** Thrown to leave a script that has called process.exit; not an error of the script. */
export class ProcessExitSignal extends Error {
  constructor(code: number) {
    super(`The program has exited with code ${code}.`);
    this.name = "ProcessExitSignal";
  }
}

function outputOf(write: (text: string) => void): object {
  return {
    isTTY: false,
    columns: 80,
    writable: true,
    write(chunk: string | Uint8Array, ...rest: unknown[]) {
      write(typeof chunk === "string" ? chunk : new TextDecoder().decode(chunk));
      const done = rest.findLast((last) => typeof last === "function") as (() => void) | undefined;
      if (done !== undefined) queueMicrotask(done);
      return true;
    },
    end(chunk?: string) {
      if (chunk !== undefined) write(chunk);
    },
    on() {
      return this;
    },
    once() {
      return this;
    },
  };
}

function inputOf(text: string): object {
  const input = {
    isTTY: false,
    fd: 0,
    setEncoding: () => input,
    resume: () => input,
    pause: () => input,
    on(event: string, run: Listener) {
      if (event === "data" && text !== "") queueMicrotask(() => run(text));
      // After the data, whichever is asked for first.
      if (event === "end" || event === "close") queueMicrotask(() => queueMicrotask(() => run()));
      return input;
    },
    async *[Symbol.asyncIterator]() {
      if (text !== "") yield text;
    },
  };
  return Object.assign(input, { once: input.on });
}

/** What a script finds as the global `process`, and the host's hold on it. */
export interface WorkerProcess {
  readonly process: object;
  /** Ends the program as process.exit does, without leaving the caller by a throw. */
  end(code: number): void;
  /** Ends the program as an error that nobody caught does. */
  crash(thrown: unknown, event: "uncaughtException" | "unhandledRejection"): void;
  /** Gives the script its signal. */
  signal(name: string): void;
  /** The script is about to end for want of work: it may find some. */
  beforeExit(): void;
  /** The code it ends with by itself. */
  exitCode(): number;
}

/** The parts of `process` that say what the program is and was given. */
function factsOf(start: AgentStart): object {
  return {
    argv: [...start.argv],
    argv0: start.argv[0],
    execArgv: [],
    env: { ...start.env },
    pid: start.pid,
    platform: "browser",
    arch: "wasm",
    title: "agent",
    version: "",
    // Empty, so that nobody takes this for Node.
    versions: {},
    stdin: inputOf(start.stdin),
    cwd: () => "/",
    uptime: () => performance.now() / 1000,
    hrtime: Object.assign(hrtime, { bigint: () => BigInt(Math.round(performance.now() * 1e6)) }),
    nextTick: (run: Listener, ...args: unknown[]) => queueMicrotask(() => run(...args)),
  };
}

/** The parts of `process` that are an event emitter; `self` is what its methods return. */
function emitterOf(listeners: Listeners, self: () => object, onListen: (event: string) => void): object {
  const listen = (once: boolean) => (event: string, run: Listener) => {
    listeners.add(event, run, once);
    onListen(event);
    return self();
  };
  const remove = (event: string, run: Listener): object => {
    listeners.remove(event, run);
    return self();
  };
  const removeAllListeners = (event?: string): object => {
    listeners.clear(event);
    return self();
  };
  return {
    on: listen(false),
    addListener: listen(false),
    once: listen(true),
    off: remove,
    removeListener: remove,
    removeAllListeners,
    listenerCount: (event: string) => listeners.count(event),
    emit: (event: string, ...args: unknown[]) => listeners.emit(event, ...args),
  };
}

/**
 * Sends output up to a limit. It is kept here, because a script that writes without end would fill its host's queue
 * before the host could end it.
 */
function limitedOutput(limit: number, report: (message: AgentReport) => void) {
  let left = limit;
  return (stream: "stdout" | "stderr", text: string): void => {
    if (left < 0 || text === "") return;
    const bytes = new TextEncoder().encode(text);
    if (left > 0) report({ kind: "agent_output", stream, bytes: bytes.subarray(0, left) });
    left -= bytes.length;
    if (left < 0) report({ kind: "agent_overflow" });
  };
}

/** Makes the global `process` of a script in a worker; `report` goes to the host. */
export function workerProcess(start: AgentStart, report: (message: AgentReport) => void): WorkerProcess {
  const listeners = new Listeners();
  const ending: { exitCode?: number } = {};
  let isOver = false;
  const send = limitedOutput(start.outputLimitBytes, report);
  const write = (stream: "stdout" | "stderr") => (text: string) => {
    if (!isOver) send(stream, text);
  };
  const end = (code: number): void => {
    if (isOver) return;
    listeners.emit("exit", code);
    isOver = true;
    report({ kind: "agent_exit", code });
  };
  const exitCode = (): number => Number(ending.exitCode ?? 0);
  const process: object = Object.assign(ending, factsOf(start), {
    stdout: outputOf(write("stdout")),
    stderr: outputOf(write("stderr")),
    emitWarning: (warning: unknown) => write("stderr")(`${consoleText([warning])}\n`),
    exit(code: number | string = exitCode()): never {
      end(Number(code));
      throw new ProcessExitSignal(Number(code));
    },
    ...emitterOf(
      listeners,
      () => process,
      (event) => event === "SIGTERM" && report({ kind: "agent_listens" }),
    ),
  });
  return {
    process,
    end,
    exitCode,
    crash(thrown, event) {
      if (isOver || thrown instanceof ProcessExitSignal) return;
      const handled = listeners.emit(event, thrown) || (event !== "uncaughtException" && uncaught(listeners, thrown));
      if (handled) return;
      write("stderr")(`${consoleText([thrown])}\n`);
      end(1);
    },
    signal: (name) => void listeners.emit(name, name),
    beforeExit: () => void listeners.emit("beforeExit", exitCode()),
  };
}

/** A rejection that nobody handles is an uncaught exception too. */
function uncaught(listeners: Listeners, thrown: unknown): boolean {
  return listeners.emit("uncaughtException", thrown, "unhandledRejection");
}

function hrtime(since: readonly [number, number] = [0, 0]): [number, number] {
  const now = performance.now();
  const seconds = Math.floor(now / 1000);
  const nanos = Math.round((now - seconds * 1000) * 1e6) - since[1];
  return nanos < 0 ? [seconds - since[0] - 1, nanos + 1e9] : [seconds - since[0], nanos];
}

/** Lets the console write to the program's output: log, info and debug to stdout, warn, error and trace to stderr. */
export function redirectConsole(write: (stream: "stdout" | "stderr", text: string) => void): void {
  const to =
    (stream: "stdout" | "stderr") =>
    (...args: unknown[]) =>
      write(stream, `${consoleText(args)}\n`);
  const [out, err] = [to("stdout"), to("stderr")];
  Object.assign(console, { log: out, info: out, debug: out, dir: out, warn: err, error: err, trace: err });
}
