/** A gateway behind real HTTP with a real tokenizer and template, whose replies the test writes. */
import { createApp, type GatewayApp } from "../../../gateway/app.ts";
import type { GatewayOptions } from "../../../gateway/config.ts";
import type { ServedGateway } from "../../../gateway/listening.ts";
import { serveNode } from "../../../gateway/serve_node.ts";
import { systemClock, systemEntropy } from "../../../src/platform/clock.ts";
import type { CallRecord } from "../../../src/schema/store.ts";
import { MemoryStore } from "../../../src/store/memory_store.ts";
import { tinyFormat } from "../../text/formats.ts";
import { harnessTemplate } from "../harness_template.ts";
import { ScriptedEngine } from "../scripted_engine.ts";

export type Json = Record<string, unknown>;

/** What a request got. */
export interface Answer {
  status: number;
  headers: Headers;
  text: string;
}

/** The server and what tests do with it. */
export class GatewayServer {
  readonly engine: ScriptedEngine;
  readonly store: MemoryStore = new MemoryStore();
  readonly app: GatewayApp;
  readonly faults: unknown[] = [];
  private served: ServedGateway | null = null;
  private rollouts = 0;

  constructor(config: GatewayOptions = {}) {
    this.engine = new ScriptedEngine(tinyFormat(harnessTemplate));
    this.engine.contextLength = 10_000_000;
    this.app = createApp({
      store: this.store,
      model: this.engine.model,
      clock: systemClock,
      entropy: systemEntropy,
      config: { key: "admin", ...config },
      report: (fault) => this.faults.push(fault),
    });
  }

  async open(): Promise<void> {
    this.served = await serveNode(this.app, { host: "127.0.0.1", port: 0 });
  }

  async close(): Promise<void> {
    await this.served?.close(1000);
  }

  get url(): string {
    return this.served?.url ?? "";
  }

  /** Makes a rollout and returns its id. */
  async rollout(mode: "train" | "val" = "train"): Promise<string> {
    const id = `rollout-${this.rollouts++}`;
    const body = JSON.stringify([{ rollout_id: id, input: 1, is_train: mode === "train" }]);
    await fetch(`${this.url}/api/rollouts`, { method: "POST", body, headers: { "x-api-key": "admin" } });
    return id;
  }

  /** Posts to a path below a rollout's address; `heard` is told all that has come each time some more has. */
  async post(
    rollout: string,
    path: string,
    body: unknown,
    init: RequestInit = {},
    heard: (text: string) => void = () => {},
  ): Promise<Answer> {
    const headers = { "content-type": "application/json", "x-api-key": "admin", ...init.headers };
    const text = typeof body === "string" ? body : JSON.stringify(body);
    const url = `${this.url}/r/${rollout}/0/train${path}`;
    const response = await fetch(url, { method: "POST", ...init, body: text, headers });
    return { status: response.status, headers: response.headers, text: await readWhole(response, heard) };
  }

  /** The JSON of an answer that has to be one. */
  async json(rollout: string, path: string, body: unknown): Promise<Json> {
    const { status, text } = await this.post(rollout, path, body);
    if (status !== 200) throw new Error(`${path}: ${status} ${text}`);
    return JSON.parse(text) as Json;
  }

  calls(rollout: string): Promise<CallRecord[]> {
    return this.store.calls(rollout);
  }

  /** Text of a recorded prompt. */
  promptText(call: CallRecord | undefined): string {
    return this.engine.decode(call?.tokens.promptIds ?? []);
  }
}

async function readWhole(response: Response, heard: (text: string) => void): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk, { stream: true });
    heard(text);
  }
  return text + decoder.decode();
}

/** The values of a stream's data lines. */
export function dataOf(text: string): Json[] {
  const lines = text.split("\n").filter((line) => line.startsWith("data: ") && line !== "data: [DONE]");
  return lines.map((line) => JSON.parse(line.slice("data: ".length)) as Json);
}
