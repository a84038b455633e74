import { EnvironmentError } from "../core/errors.ts";
import type { AgentReport, AgentSignal, AgentStart } from "../schema/agent_worker.ts";
import type { Files } from "../schema/files.ts";
import type { WorkerHandle } from "../schema/platform.ts";
import type { KillSignal, ProcessExit, ProcessHandle, ProcessHost, SpawnOptions } from "../schema/process_host.ts";
import { OutputLog } from "./output_log.ts";
import { spawnWebWorker } from "./web_worker.ts";

/** How the programs of a tab are started. */
export interface WorkerPrograms {
  /** Module that calls `runWorkerProgram`. */
  readonly module: URL;
  /** A script by the name that command lines give it, as `AgentStart` takes it; undefined: there is none. */
  scriptOf(name: string): AgentStart["script"] | undefined;
  /** Where outputs are written. */
  readonly files: Files;
  /** The gateway's end of a new program's port, and the address it stands for; null: programs fetch by themselves. */
  readonly gateway: { readonly url: string; serve(port: MessagePort): () => void } | null;
}

const defaultOutputLimitBytes = 64 * 2 ** 20;

let started = 0;

/**
 * Programs of a tab: `node SCRIPT ARGS…` runs a script that came with the page in a web worker of its own. Arguments,
 * variables, input, output, exit code and signals are those of a process; folders are not: a script has no files.
 */
export function workerProcesses(programs: WorkerPrograms): ProcessHost {
  return {
    async spawn(command, args, options = {}) {
      const [name = ""] = args;
      const script = command === "node" ? programs.scriptOf(name) : undefined;
      if (script !== undefined) return start(programs, script, [command, ...args], options);
      const message = `Could not start "${[command, name].join(" ").trim()}": a tab runs only the scripts that came with it.`;
      throw new EnvironmentError("spawn_failed", message, {
        do: 'Use a command of the form ["node", SCRIPT, …] with the experiment\'s own script, or train with "leyden train".',
        data: { command, args },
      });
    },
  };
}

function start(
  { module, files, gateway }: WorkerPrograms,
  script: AgentStart["script"],
  argv: readonly string[],
  options: SpawnOptions,
): ProcessHandle {
  const worker = spawnWebWorker(module);
  const running = new RunningWorker(worker, files, options);
  const pid = ++started;
  const channel = gateway === null ? null : new MessageChannel();
  const reach = gateway === null || channel === null ? null : { url: gateway.url, port: channel.port2 };
  if (gateway !== null && channel !== null) running.onEnd(gateway.serve(channel.port1));
  const { stdin = "", env = {}, outputLimitBytes = defaultOutputLimitBytes } = options;
  const begin: AgentStart = { kind: "agent_start", script, argv, env, stdin, pid, outputLimitBytes, gateway: reach };
  worker.post(begin, reach === null ? [] : [reach.port]);
  return { pid, exit: running.exit, kill: (signal) => running.kill(signal) };
}

/** One program on its way to its end. */
class RunningWorker {
  readonly exit: Promise<ProcessExit>;
  private readonly worker: WorkerHandle;
  private readonly outputs: Readonly<Record<"stdout" | "stderr", OutputLog>>;
  private readonly atEnd: (() => void)[] = [];
  private bytes = 0;
  private listens = false;
  private isOver = false;
  private resolve: (exit: ProcessExit) => void = () => {};

  constructor(worker: WorkerHandle, files: Files, { stdoutFile, stderrFile }: SpawnOptions) {
    this.worker = worker;
    this.outputs = { stdout: new OutputLog(files, stdoutFile), stderr: new OutputLog(files, stderrFile) };
    this.exit = new Promise((resolve) => {
      this.resolve = resolve;
    });
    worker.onMessage((message) => this.receive(message as AgentReport));
    // What the script throws is reported by the worker itself; this is a script that cannot be loaded, say.
    worker.onError((error) => {
      this.write("stderr", new TextEncoder().encode(`${error.message}\n`));
      this.end({ code: 1, signal: null });
    });
  }

  onEnd(run: () => void): void {
    this.atEnd.push(run);
  }

  kill(signal: KillSignal): void {
    if (this.isOver) return;
    if (signal === "SIGTERM" && this.listens) this.worker.post({ kind: "agent_signal", signal } satisfies AgentSignal);
    else this.end({ code: null, signal });
  }

  private receive(report: AgentReport): void {
    if (this.isOver) return;
    if (report.kind === "agent_output") this.write(report.stream, report.bytes);
    else if (report.kind === "agent_overflow") this.end({ code: null, signal: "SIGKILL" }, true);
    else if (report.kind === "agent_listens") this.listens = true;
    else this.end({ code: report.code, signal: null });
  }

  private write(stream: "stdout" | "stderr", bytes: Uint8Array): void {
    this.bytes += bytes.length;
    this.outputs[stream].write(bytes);
  }

  private end(how: Pick<ProcessExit, "code" | "signal">, overflowed = false): void {
    if (this.isOver) return;
    this.isOver = true;
    for (const run of this.atEnd) run();
    void this.settle(how, overflowed);
  }

  private async settle(how: Pick<ProcessExit, "code" | "signal">, overflowed: boolean): Promise<void> {
    await this.worker.terminate();
    const { stdout, stderr } = this.outputs;
    await Promise.all([stdout.written(), stderr.written()]);
    this.resolve({ ...how, outputBytes: this.bytes, overflowed, outputError: stdout.error ?? stderr.error });
  }
}
