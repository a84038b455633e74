import type { AgentReport, AgentSignal, AgentStart } from "../../schema/agent_worker.ts";
import { PendingWork } from "./pending_work.ts";
import { redirectConsole, type WorkerProcess, workerProcess } from "./process_object.ts";

/** Turns of the event loop without work after which a program has ended: what else there is takes no longer. */
const quietTurns = 3;
const turnMs = 4;
/** How long a script may take to be read before it counts as one that waits for nothing. */
const loadMs = 30_000;
/** Node's exit code for a script whose top-level await is never answered. */
const unsettledAwait = 13;

interface WorkerScope {
  postMessage(message: AgentReport): void;
  addEventListener(type: "message", receive: (event: MessageEvent) => void): void;
}

/** What a program needs of the code around it. */
export interface ProgramTools {
  /** Runs a script, as `AgentStart` gives it; resolves when it has been evaluated. */
  load(script: AgentStart["script"]): Promise<unknown>;
  /** The fetch of requests to the program's gateway. */
  connect(gateway: NonNullable<AgentStart["gateway"]>): (request: Request) => Promise<Response>;
}

/**
 * Runs the script that the first message names in this worker as a process would: `process`, a console that is its
 * output, an end when nothing is left to do. The script itself is an unchanged bundle.
 */
export function runWorkerProgram(tools: ProgramTools): void {
  const scope = globalThis as unknown as WorkerScope;
  let running: WorkerProcess | null = null;
  scope.addEventListener("message", ({ data }: MessageEvent<AgentStart | AgentSignal>) => {
    if (data.kind === "agent_signal") running?.signal(data.signal);
    else if (data.kind === "agent_start") running ??= begin(data, (report) => scope.postMessage(report), tools);
  });
}

function begin(start: AgentStart, report: (message: AgentReport) => void, tools: ProgramTools): WorkerProcess {
  const running = workerProcess(start, report);
  const work = new PendingWork();
  Object.assign(globalThis, { process: running.process, global: globalThis });
  redirectConsole((stream, text) => {
    const { stdout, stderr } = running.process as Record<"stdout" | "stderr", { write(text: string): void }>;
    (stream === "stdout" ? stdout : stderr).write(text);
  });
  const { gateway } = start;
  const send = gateway === null ? null : tools.connect(gateway);
  work.watchFetch((request) =>
    send !== null && gateway !== null && request.url.startsWith(gateway.url) ? send(request) : null,
  );
  work.watchTimers();
  globalThis.addEventListener("error", (event) => {
    event.preventDefault();
    running.crash(event.error ?? event.message, "uncaughtException");
  });
  globalThis.addEventListener("unhandledrejection", (event) => {
    event.preventDefault();
    running.crash(event.reason, "unhandledRejection");
  });
  void run(tools.load(start.script), running, work);
  return running;
}

async function run(loading: Promise<unknown>, running: WorkerProcess, work: PendingWork): Promise<void> {
  let isLoaded = false;
  const loaded = loading.then(
    () => {
      isLoaded = true;
    },
    (thrown) => {
      isLoaded = true;
      running.crash(thrown, "uncaughtException");
    },
  );
  // Reading and compiling the script is work that nobody counts.
  await Promise.race([loaded, work.sleep(loadMs)]);
  for (;;) {
    await idle(work);
    running.beforeExit();
    if (work.isIdle) break;
  }
  running.end(isLoaded ? running.exitCode() : unsettledAwait);
}

/** Resolves once there has been no work for some turns. */
async function idle(work: PendingWork): Promise<void> {
  for (let quiet = 0; quiet < quietTurns; quiet = work.isIdle ? quiet + 1 : 0) await work.sleep(turnMs);
}
