import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** `leyden serve` in a process of its own. */
export interface ServedProcess {
  url: string;
  key: string;
  pid: number;
  process: ChildProcess;
  /** Sends SIGTERM; resolves with the exit code. */
  stop(): Promise<number | null>;
}

const main = fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url));

/** Key, model and train temperature of Agent Lightning's own endpoint tests. */
export const inventoryArgs: readonly string[] = [
  "--gateway-only",
  "--key=test-secret-key",
  "--model-name=test-model",
  "--train-temperature=1",
  "--val-temperature=0.4",
];

/** Starts a gateway on a free port; `command` runs main.ts, Node by default. */
export async function startServed(
  args: readonly string[] = inventoryArgs,
  command: readonly string[] = [process.execPath],
): Promise<ServedProcess> {
  const [program = "", ...before] = command;
  const child = spawn(program, [...before, main, "serve", ...args, "--json"], {
    stdio: ["ignore", "pipe", "pipe"],
    // Many of them are started: the second one need not compile everything again.
    env: { ...process.env, NODE_COMPILE_CACHE: join(tmpdir(), "leyden-test-compile-cache") },
  });
  let out = "";
  let errors = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    errors += text;
  });
  const exited = once(child, "exit") as Promise<[number | null]>;
  const line = new Promise<string>((resolve, reject) => {
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      out += text;
      if (out.includes("\n")) resolve(out.slice(0, out.indexOf("\n")));
    });
    exited.then(([code]) => reject(new Error(`serve ended with ${code}: ${out}${errors}`)), reject);
  });
  const ready = JSON.parse(await line) as { url: string; key: string; pid: number };
  return {
    ...ready,
    process: child,
    async stop() {
      child.kill("SIGTERM");
      const [code] = await exited;
      return code;
    },
  };
}

/** Requests of one gateway with JSON bodies and, unless they say otherwise, its key. */
export class Client {
  readonly url: string;
  readonly key: string;

  constructor({ url, key }: { url: string; key: string }) {
    this.url = url;
    this.key = key;
  }

  async send(method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Response> {
    const text = body === undefined || typeof body === "string" ? body : JSON.stringify(body);
    return await fetch(this.url + path, {
      method,
      headers: { "content-type": "application/json", authorization: `Bearer ${this.key}`, ...headers },
      body: text,
    });
  }

  get(path: string, headers?: Record<string, string>): Promise<Response> {
    return this.send("GET", path, undefined, headers);
  }

  post(path: string, body?: unknown, headers?: Record<string, string>): Promise<Response> {
    return this.send("POST", path, body, headers);
  }

  patch(path: string, body?: unknown): Promise<Response> {
    return this.send("PATCH", path, body);
  }

  delete(path: string): Promise<Response> {
    return this.send("DELETE", path);
  }

  /** Creates rollouts with these ids and no input worth mentioning. */
  async create(...ids: readonly string[]): Promise<void> {
    await this.post(
      "/api/rollouts",
      ids.map((id) => ({ rollout_id: id, input: { data_id: id } })),
    );
  }

  /** Path of the model proxy for attempt "0". */
  proxy(rolloutId: string, path = "chat/completions", mode = "train"): string {
    return `/proxy/rollout/${rolloutId}/attempt/0/mode/${mode}/openai/v1/${path}`;
  }

  /** Data of an attempt's `model_request` events in short form. */
  async triplets(rolloutId: string): Promise<Record<string, unknown>[]> {
    const events = await this.events(rolloutId, "?event_type=model_request&format=triplet");
    return events.map((event) => event.data);
  }

  async events(rolloutId: string, query = ""): Promise<{ event_type: string; data: Record<string, unknown> }[]> {
    return await (await this.get(`/api/rollouts/${rolloutId}/events${query}`)).json();
  }
}

/** Status and parsed body of a response. */
export async function read(response: Response | Promise<Response>): Promise<{ status: number; body: unknown }> {
  const { status } = await response;
  const text = await (await response).text();
  return { status, body: text === "" ? null : JSON.parse(text) };
}

/** One entry of a validation error. */
export interface Problem {
  type: string;
  loc: unknown[];
  msg: string;
  input?: unknown;
}

/** The problems a 422 lists. */
export async function problems(response: Promise<Response>): Promise<Problem[]> {
  const { status, body } = await read(response);
  if (status !== 422) throw new Error(`expected 422, got ${status}: ${JSON.stringify(body)}`);
  return (body as { detail: Problem[] }).detail;
}
