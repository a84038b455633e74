// A page that runs scripts as the programs of a tab, and answers as their gateway.
import { servePort } from "../../../gateway/serve_port.ts";
import { asLeydenError } from "../../../src/core/errors.ts";
import { memoryFiles } from "../../../src/platform/memory_files.ts";
import { scriptProgram } from "../../../src/platform/worker_process/script_program.ts";
import { workerProcesses } from "../../../src/platform/worker_processes.ts";
import type { KillSignal, ProcessExit } from "../../../src/schema/process_host.ts";

/** A script, and what is done with it. */
export interface ProgramRun {
  source: string;
  /** As pages that are one file run it: a script made of the module. */
  isScript?: boolean;
  args?: string[];
  command?: string[];
  env?: Record<string, string>;
  stdin?: string;
  outputLimitBytes?: number;
  /** Signals sent once it has run for a while. */
  kill?: KillSignal[];
}

/** How it ended and what it wrote; `refused` has code and message when it was not started. */
export interface ProgramResult extends ProcessExit {
  stdout: string;
  stderr: string;
  /** The gateway's stream was ended by the program. */
  cancelled: boolean;
  refused: [code: string, message: string] | null;
}

const neverRan: ProgramResult = {
  ...{ code: null, signal: null, outputBytes: 0, overflowed: false, outputError: null },
  ...{ stdout: "", stderr: "", cancelled: false, refused: null },
};

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** A stream without end, or the path of the request twice. */
function answerOf(request: Request, onCancel: () => void): Response {
  const { pathname } = new URL(request.url);
  if (pathname !== "/stream") return new Response(pathname.repeat(2));
  let count = 0;
  const body = new ReadableStream({
    async pull(controller) {
      await pause(5);
      controller.enqueue(new TextEncoder().encode(`data: ${count++}\n\n`));
    },
    cancel: onCancel,
  });
  return new Response(body, { headers: { "content-type": "text/event-stream" } });
}

function scriptOf(source: string, isScript: boolean): string | Blob {
  const blob = new Blob([isScript ? scriptProgram(source) : source], { type: "text/javascript" });
  return isScript ? blob : URL.createObjectURL(blob);
}

async function runProgram(asked: ProgramRun): Promise<ProgramResult> {
  const { source, isScript = false, args = [], command, kill = [], ...options } = asked;
  const files = memoryFiles();
  const script = scriptOf(source, isScript);
  let cancelled = false;
  const answer = { fetch: (request: Request) => answerOf(request, () => (cancelled = true)) };
  const host = workerProcesses({
    module: new URL("../../../src/app/tab/agent_worker.ts", import.meta.url),
    files,
    scriptOf: (name) => (name === "agent.ts" ? script : undefined),
    gateway: { url: "https://gateway.invalid", serve: (port) => servePort(answer, port) },
  });
  const [name = "", ...rest] = command ?? ["node", "agent.ts", ...args];
  try {
    const handle = await host.spawn(name, rest, { ...options, stdoutFile: "/out", stderrFile: "/err" });
    for (const signal of kill) {
      while (!(await files.exists("/out"))) await pause(5);
      handle.kill(signal);
    }
    const exit = await handle.exit;
    const read = async (path: string) => ((await files.exists(path)) ? files.readText(path) : "");
    return { ...exit, stdout: await read("/out"), stderr: await read("/err"), cancelled, refused: null };
  } catch (thrown) {
    const { code, message } = asLeydenError(thrown);
    return { ...neverRan, refused: [code, message] };
  }
}

Object.assign(globalThis, { runProgram });
