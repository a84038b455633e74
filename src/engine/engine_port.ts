import { asLeydenError, type ExitCode, LeydenError } from "../core/errors.ts";
import type { Engine } from "../schema/engine.ts";
import type { WorkerPort } from "../schema/platform.ts";
import { closedError } from "./admission.ts";

/** Methods that cross the port; each takes at most one argument of plain data. */
const methods = [
  "info",
  "stats",
  "timeline",
  "generate",
  "score",
  "scoreRows",
  "updateCritic",
  "accumulate",
  "update",
  "drain",
  "resume",
  "snapshot",
  "cancel",
  "close",
] as const satisfies readonly (keyof Engine)[];

type Method = (typeof methods)[number];

interface Call {
  readonly kind: "engine_call";
  readonly call: number;
  readonly method: Method;
  readonly argument: unknown;
}

interface WireError {
  readonly code: string;
  readonly message: string;
  readonly do: string;
  readonly data: Record<string, unknown>;
  readonly exitCode: ExitCode;
}

interface Reply {
  readonly kind: "engine_reply";
  readonly call: number;
  readonly result?: unknown;
  readonly error?: WireError;
}

function toWire(thrown: unknown): WireError {
  const error = asLeydenError(thrown);
  const { code, message, data, exitCode } = error;
  return { code, message, do: error.do, data, exitCode };
}

function fromWire(error: WireError): LeydenError {
  return new LeydenError(error.code, error.message, { do: error.do, data: error.data }, error.exitCode);
}

/** What stands for a method that an engine need not have. */
function notOffered(method: Method): () => Promise<never> {
  return () => Promise.reject(new LeydenError("not_offered", `This engine has no ${method}.`));
}

/** Answers an owner's calls with `engine`; calls run side by side. */
export function serveEngine(engine: Engine, port: WorkerPort): void {
  port.onMessage((message) => {
    const { kind, call, method, argument } = message as Call;
    if (kind !== "engine_call" || !methods.includes(method)) return;
    const run = (engine[method] ?? notOffered(method)) as (argument: unknown) => Promise<unknown>;
    void run.call(engine, argument).then(
      (result) => port.post({ kind: "engine_reply", call, result } satisfies Reply),
      (thrown: unknown) => port.post({ kind: "engine_reply", call, error: toWire(thrown) } satisfies Reply),
    );
  });
}

interface Waiting {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/** An engine behind a port. Once the port failed, every call but `close` rejects with that failure. */
export class EngineClient implements Engine {
  private readonly port: WorkerPort;
  private readonly waiting = new Map<number, Waiting>();
  private lastCall = 0;
  private failure: unknown = null;

  constructor(port: WorkerPort) {
    this.port = port;
    port.onMessage((message) => this.receive(message as Reply));
  }

  /** Rejects all calls, now and later: the worker is gone. */
  fail(error: unknown): void {
    this.failure ??= error;
    for (const { reject } of this.waiting.values()) reject(this.failure);
    this.waiting.clear();
  }

  info: Engine["info"] = () => this.call("info");
  stats: Engine["stats"] = () => this.call("stats");
  timeline: NonNullable<Engine["timeline"]> = (after) => this.call("timeline", after);
  generate: Engine["generate"] = (request) => this.call("generate", request);
  score: Engine["score"] = (request) => this.call("score", request);
  scoreRows: Engine["scoreRows"] = (request) => this.call("scoreRows", request);
  updateCritic: Engine["updateCritic"] = (request) => this.call("updateCritic", request);
  accumulate: Engine["accumulate"] = (request) => this.call("accumulate", request);
  update: Engine["update"] = (request) => this.call("update", request);
  drain: Engine["drain"] = () => this.call("drain");
  resume: Engine["resume"] = () => this.call("resume");
  snapshot: Engine["snapshot"] = (options) => this.call("snapshot", options);
  cancel: Engine["cancel"] = (id) => this.call("cancel", id);

  /** Ends the engine; calls that come later are refused, not left waiting for a port that nobody answers. */
  close: Engine["close"] = async () => {
    if (this.failure !== null) return;
    await this.call("close");
    this.fail(closedError());
  };

  private call<T>(method: Method, argument?: unknown): Promise<T> {
    if (this.failure !== null) return Promise.reject(this.failure);
    const call = ++this.lastCall;
    return new Promise<T>((resolve, reject) => {
      this.waiting.set(call, { resolve: resolve as (value: unknown) => void, reject });
      this.port.post({ kind: "engine_call", call, method, argument } satisfies Call);
    });
  }

  private receive(reply: Reply): void {
    const waiting = reply.kind === "engine_reply" ? this.waiting.get(reply.call) : undefined;
    if (waiting === undefined) return;
    this.waiting.delete(reply.call);
    if (reply.error === undefined) waiting.resolve(reply.result);
    else waiting.reject(fromWire(reply.error));
  }
}
