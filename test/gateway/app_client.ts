import { createApp, type GatewayApp } from "../../gateway/app.ts";
import type { GatewayOptions } from "../../gateway/config.ts";
import type { ServedModel } from "../../gateway/deps.ts";
import type { Clock } from "../../src/core/clock.ts";
import { systemClock, systemEntropy } from "../../src/platform/clock.ts";
import type { CallRecord, Store } from "../../src/schema/store.ts";
import { MemoryStore } from "../../src/store/memory_store.ts";
import { FakeEngine, fakeModel } from "./fake_model.ts";

type Json = Record<string, unknown>;

/** A gateway in this process with a fake model, and requests to it. */
export class AppClient {
  readonly engine: FakeEngine;
  readonly store: Store;
  readonly app: GatewayApp;
  readonly faults: unknown[] = [];

  constructor(
    config: GatewayOptions = {},
    more: {
      clock?: Clock;
      store?: Store;
      engine?: FakeEngine;
      /** In place of the fake model. */
      model?: ServedModel;
      tokenText?: (id: number) => string;
      fetch?: (url: string, init: RequestInit) => Promise<Response>;
    } = {},
  ) {
    this.engine = more.engine ?? new FakeEngine();
    this.store = more.store ?? new MemoryStore();
    this.app = createApp({
      store: this.store,
      model: more.model ?? { ...fakeModel(this.engine), ...(more.tokenText ? { tokenText: more.tokenText } : {}) },
      clock: more.clock ?? systemClock,
      entropy: systemEntropy,
      config: { key: "admin", modelName: "m", ...config },
      fetch: more.fetch,
      report: (fault) => this.faults.push(fault),
    });
  }

  async send(method: string, path: string, body?: unknown, key = "admin", init: RequestInit = {}): Promise<Response> {
    const text = body === undefined || typeof body === "string" ? body : JSON.stringify(body);
    const headers = { authorization: `Bearer ${key}`, ...init.headers };
    return await this.app.request(`http://gateway${path}`, { method, body: text, ...init, headers });
  }

  post(path: string, body?: unknown, key?: string, init?: RequestInit): Promise<Response> {
    return this.send("POST", path, body, key, init);
  }

  get(path: string, key?: string): Promise<Response> {
    return this.send("GET", path, undefined, key);
  }

  async create(id: string, more: Json = {}): Promise<void> {
    await this.post("/api/rollouts", [{ rollout_id: id, input: { data_id: id }, ...more }]);
  }

  /** A chat completion in an attempt's name. */
  chat(rolloutId: string, body: Json, attempt = "0", mode = "train", init?: RequestInit): Promise<Response> {
    return this.post(`/r/${rolloutId}/${attempt}/${mode}/v1/chat/completions`, body, undefined, init);
  }

  /** The JSON of a chat completion that asks one thing. */
  async ask(rolloutId: string, text: string, more: Json = {}): Promise<Completion> {
    const response = await this.chat(rolloutId, { messages: [{ role: "user", content: text }], ...more });
    if (response.status !== 200) throw new Error(`${response.status}: ${await response.text()}`);
    return (await response.json()) as Completion;
  }

  /** Status and error of a call that is refused. */
  async refusal(path: string, body: unknown, key?: string): Promise<{ status: number; error: Json }> {
    const response = await this.post(path, body, key);
    return { status: response.status, ...((await response.json()) as { error: Json }) };
  }

  async calls(rolloutId: string): Promise<CallRecord[]> {
    return await this.store.calls(rolloutId);
  }
}

/** What is read of a chat completion. */
export interface Completion {
  id: string;
  model: string;
  choices: {
    index: number;
    finish_reason: string;
    message: { role: string; content: string | null; reasoning_content?: string; tool_calls?: ToolCallJson[] };
    logprobs: { content: { token: string; logprob: number; bytes: number[] }[] } | null;
    token_ids?: number[];
  }[];
  usage: { prompt_tokens: number; completion_tokens: number; total_tokens: number };
  prompt_token_ids?: number[];
}

interface ToolCallJson {
  id: string;
  type: string;
  function: { name: string; arguments: string };
}

/** The JSON values of a stream's data lines, and whether it ended with [DONE]. */
export function sse(text: string): { chunks: Json[]; done: boolean } {
  const data = text.split("\n\n").filter((event) => event.startsWith("data: "));
  const last = data.at(-1);
  const values = data.map((event) => event.slice("data: ".length)).filter((value) => value !== "[DONE]");
  return { chunks: values.map((value) => JSON.parse(value) as Json), done: last === "data: [DONE]" };
}
