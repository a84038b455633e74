/** Programs that call a gateway: each keeps a conversation, sends it whole, and reads the stream to its end. */
import { type Agent, request } from "node:http";
import type { Clock } from "../core/clock.ts";

/** Turns after the first one before a conversation goes back to it, as harnesses that compact do. */
const turnsBeforeReset = 32;

/** What became of a client's requests. */
export interface Answered {
  /** Milliseconds until each reply was whole. */
  readonly latencies: number[];
  /** Replies that were refused, broke off, or lacked their end. */
  lost: number;
  /** What was said of the last one. */
  lastLoss: string;
}

/** Makes one request, and gives what was answered. */
export function post(agent: Agent, url: URL, body: string): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const { hostname, port, pathname: path } = url;
    const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(body) };
    const sent = request({ agent, hostname, port, path, method: "POST", headers }, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("error", reject);
      response.on("end", () => resolve({ status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString() }));
    });
    sent.on("error", reject);
    sent.end(body);
  });
}

/** The text that a stream of chat chunks spells. */
function spelled(text: string): string {
  return text
    .split("\n\n")
    .filter((event) => event.startsWith("data: {"))
    .map((event) => {
      const { choices } = JSON.parse(event.slice("data: ".length)) as { choices: { delta?: { content?: string } }[] };
      return choices[0]?.delta?.content ?? "";
    })
    .join("");
}

/** One client with its conversation. */
export class LoadClient {
  private readonly agent: Agent;
  private readonly url: URL;
  /** Where its answers are counted. */
  answered: Answered;
  private readonly clock: Clock;
  private readonly first: string;
  private firstTurn = "";
  private turns = 0;
  private messages: string;

  /** `size`: characters of the conversation's first message. */
  constructor(agent: Agent, url: string, name: number, size: number, answered: Answered, clock: Clock) {
    this.agent = agent;
    this.url = new URL(`${url}/r/load-${name}/0/train/v1/chat/completions`);
    this.answered = answered;
    this.clock = clock;
    const line = `Client ${name} reads the file src/app/main.ts, which exports a function that prints its settings.`;
    const content = Array.from({ length: Math.ceil(size / (line.length + 8)) }, (_, at) => `${at}: ${line}`).join("\n");
    this.first = `${message("system", "You are an agent.")},${message("user", content.slice(0, size))}`;
    this.messages = this.first;
  }

  /** Sends the first turn, which is as long as an agent's instructions with its tools. */
  async begin(): Promise<void> {
    await this.turn();
    this.firstTurn = this.messages;
  }

  /** Sends one turn more. */
  async turn(): Promise<void> {
    if (this.turns++ > turnsBeforeReset) {
      this.turns = 1;
      this.messages = this.firstTurn;
    }
    const startedAt = this.clock.monotonic();
    try {
      const { status, text } = await post(this.agent, this.url, this.body);
      if (status !== 200 || !text.endsWith("data: [DONE]\n\n")) throw new Error(`${status} ${text.slice(-200)}`);
      const next = message("user", `Go on with step ${this.turns} of ${this.answered.latencies.length}.`);
      this.messages = `${this.messages},${message("assistant", spelled(text))},${next}`;
      this.answered.latencies.push(this.clock.monotonic() - startedAt);
    } catch (thrown) {
      this.answered.lost++;
      this.answered.lastLoss = String(thrown);
    }
  }

  /** The conversation as it stands, as a request. */
  get body(): string {
    return `{"model":"policy","stream":true,"max_tokens":64,"messages":[${this.messages}]}`;
  }
}

function message(role: string, content: string): string {
  return JSON.stringify({ role, content });
}
