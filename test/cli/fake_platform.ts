import { CancelledError, FormatError } from "../../src/core/errors.ts";
import type { Files } from "../../src/schema/files.ts";
import type { HostPlatform, Terminal } from "../../src/schema/platform.ts";
import type { ProcessExit, ProcessHost, SpawnOptions } from "../../src/schema/process_host.ts";

/** What a fake program does: prints, and ends with a code or a signal; "hang" waits to be killed. */
export interface FakeRun {
  stdout?: string;
  stderr?: string;
  code?: number;
  signal?: string;
  hang?: boolean;
}

/** Answers a command line; throws what spawning it would throw. */
export type FakePrograms = (line: string) => FakeRun;

/** What a test sets of a platform; the rest is refused when touched. */
export interface FakeFacts {
  args?: readonly string[];
  env?: Record<string, string>;
  system?: Partial<HostPlatform["system"]>;
  /** Files of the fake system by absolute path. */
  files?: Record<string, string>;
  programs?: FakePrograms;
}

/** A platform in memory, with what it was made to do. */
export interface FakePlatform {
  platform: HostPlatform;
  out(): string;
  err(): string;
  /** Command lines started, in order. */
  started: string[];
  files: Map<string, string>;
  /** Sends the program a signal. */
  signal(name: "SIGINT" | "SIGTERM"): void;
  /** Raises an error nobody caught. */
  uncaught(error: unknown): void;
  exitCodes: number[];
}

function refused(what: string): never {
  throw new Error(`the fake platform has no ${what}`);
}

function fakeFiles(content: Map<string, string>): Files {
  const read = (path: string): string => {
    const text = content.get(path);
    if (text === undefined) throw new FormatError("file_missing", `There is no ${path}.`);
    return text;
  };
  let folders = 0;
  const known: Partial<Files> = {
    readText: async (path) => read(path),
    exists: async (path) => [...content.keys()].some((name) => name === path || name.startsWith(`${path}/`)),
    list: async (folder) =>
      [...content.keys()]
        .filter((name) => name.startsWith(`${folder}/`))
        .map((name) => ({ name: name.slice(folder.length + 1), kind: "file", sizeBytes: read(name).length }) as const),
    remove: async (path) => {
      for (const name of content.keys()) if (name === path || name.startsWith(`${path}/`)) content.delete(name);
    },
    makeTempFolder: async (prefix) => `/tmp/${prefix}${folders++}`,
    join: (...segments) => segments.join("/"),
  };
  return new Proxy(known as Files, {
    get: (target, name) => Reflect.get(target, name) ?? refused(`files.${String(name)}`),
  });
}

function fakeProcesses(content: Map<string, string>, started: string[], programs: FakePrograms): ProcessHost {
  return {
    async spawn(command: string, args: readonly string[], options: SpawnOptions = {}) {
      const line = [command, ...args].join(" ");
      started.push(line);
      const { stdout = "", stderr = "", code = 0, signal = null, hang = false } = programs(line);
      if (options.stdoutFile !== undefined) content.set(options.stdoutFile, stdout);
      if (options.stderrFile !== undefined) content.set(options.stderrFile, stderr);
      const base = { outputBytes: stdout.length + stderr.length, overflowed: false, outputError: null };
      let kill = (_signal: string): void => undefined;
      const exit = hang
        ? new Promise<ProcessExit>((resolve) => {
            kill = (name) => resolve({ code: null, signal: name, ...base });
          })
        : Promise.resolve<ProcessExit>({ code: signal === null ? code : null, signal, ...base });
      return { pid: 1, exit, kill: (name) => kill(name) };
    },
  };
}

/** A wait of any length lasts 20 ms: what a test does not want to time out must have ended before. */
function shortSleep(_ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, 20);
    signal?.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(new CancelledError("A wait"));
    });
  });
}

/** Makes a fake platform. */
export function fakePlatform(facts: FakeFacts = {}): FakePlatform {
  const files = new Map(Object.entries(facts.files ?? {}));
  const started: string[] = [];
  const printed = { out: "", err: "" };
  const exitCodes: number[] = [];
  let stop: ((name: "SIGINT" | "SIGTERM") => void) | undefined;
  let fail: (error: unknown) => void = () => refused("listener for uncaught errors");
  const terminal: Terminal = {
    args: facts.args ?? [],
    isScreen: false,
    columns: 80,
    out(text) {
      printed.out += text;
    },
    err(text) {
      printed.err += text;
    },
    outliveReader() {},
    lines: () => refused("standard input"),
    onStop(handler) {
      stop = handler;
      return () => {
        stop = undefined;
      };
    },
    onUncaught: (handler) => {
      fail = handler;
    },
    exit: (code) => void exitCodes.push(code) as never,
  };
  const known: Partial<HostPlatform> = {
    runtime: "node",
    clock: { now: () => 0, monotonic: () => 0, sleep: shortSleep },
    env: facts.env ?? {},
    files: fakeFiles(files),
    processes: fakeProcesses(files, started, facts.programs ?? (() => refused("programs"))),
    terminal,
    system: {
      os: "linux",
      arch: "x64",
      isRoot: true,
      runtimeVersion: "24.15.0",
      nodeVersion: "24.15.0",
      ...facts.system,
    },
    scriptCommand: (script) => ["run", script.pathname.split("/").at(-1) ?? ""],
  };
  const platform = new Proxy(known as HostPlatform, {
    get: (target, name) => Reflect.get(target, name) ?? refused(String(name)),
  });
  return {
    platform,
    out: () => printed.out,
    err: () => printed.err,
    started,
    files,
    signal: (name) => (stop === undefined ? refused("listener for signals") : stop(name)),
    uncaught: (error) => fail(error),
    exitCodes,
  };
}
