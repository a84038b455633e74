import { asLeydenError } from "../../core/errors.ts";
import {
  decodeRelayFrame,
  encodeRelayFrame,
  type RelayFrame,
  relayCloseCodes,
  relaySocketPath,
} from "../../schema/relay.ts";
import { externallyRun } from "../../schema/rollout.ts";
import { faultIn, type PageBackend } from "./backend.ts";

/** Where the connection to the relay stands. */
export interface RelayState {
  readonly phase: "connecting" | "open" | "used" | "closed";
  /** Why it is closed; empty otherwise. */
  readonly reason: string;
  /** Requests answered so far. */
  readonly answered: number;
}

const tokenKey = "leyden.relay";
const retryMs = 1_000;
/** Requests are recorded under a rollout of their own when they name one, else under one of the page's. */
const named = /^\/as\/([\w.-]{1,80})(\/.*)$/;

type Request = Extract<RelayFrame, { kind: "request" }>;

/** The tab's end of a relay: takes requests of programs and answers them by the tab's gateway. */
export class RelayClient {
  private current: RelayState = { phase: "connecting", reason: "", answered: 0 };
  private token: string;
  private socket: WebSocket | null = null;
  private readonly backend: PageBackend;
  private readonly told: (state: RelayState) => void;
  private readonly running = new Map<number, AbortController>();
  private readonly rollouts = new Map<string, Promise<void>>();
  private readonly ownName = crypto.randomUUID().slice(0, 8);
  private closed = false;

  /** `token`: of the address, or of the connection before a reload. */
  constructor(backend: PageBackend, token: string, told: (state: RelayState) => void) {
    this.backend = backend;
    this.token = token;
    this.told = told;
    this.connect();
  }

  close(): void {
    this.closed = true;
    this.socket?.close();
  }

  private change(part: Partial<RelayState>): void {
    this.current = { ...this.current, ...part };
    this.told(this.current);
  }

  private connect(): void {
    const url = new URL(relaySocketPath, document.baseURI);
    url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
    const socket = new WebSocket(url);
    this.socket = socket;
    socket.binaryType = "arraybuffer";
    socket.addEventListener("open", () => socket.send(encodeRelayFrame({ kind: "hello", token: this.token })));
    socket.addEventListener("message", (event) => this.receive(new Uint8Array(event.data as ArrayBuffer)));
    socket.addEventListener("close", ({ code, reason }) => this.lost(code, reason));
  }

  private lost(code: number, reason: string): void {
    for (const abort of this.running.values()) abort.abort();
    this.running.clear();
    if (this.closed) return;
    if (code === relayCloseCodes.badToken) {
      this.change({ phase: "used", reason });
      return;
    }
    this.change({ phase: "closed", reason });
    if (code !== relayCloseCodes.replaced) setTimeout(() => this.closed || this.connect(), retryMs);
  }

  private receive(bytes: Uint8Array): void {
    const { frame, payload } = decodeRelayFrame(bytes);
    if (frame.kind === "welcome") {
      this.token = frame.token;
      keepToken(frame.token);
      this.change({ phase: "open", reason: "" });
    } else if (frame.kind === "cancel") this.running.get(frame.id)?.abort();
    else if (frame.kind === "request") void this.answer(frame, payload.slice());
  }

  private send(frame: RelayFrame, payload?: Uint8Array): void {
    if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(encodeRelayFrame(frame, payload));
  }

  private async answer(request: Request, body: Uint8Array<ArrayBuffer>): Promise<void> {
    const { id } = request;
    const abort = new AbortController();
    this.running.set(id, abort);
    try {
      const response = await this.ask(request, body, abort.signal);
      this.send({ kind: "head", id, status: response.status, headers: [...response.headers] });
      const reader = response.body?.getReader();
      for (let part = await reader?.read(); part?.done === false; part = await reader?.read()) {
        this.send({ kind: "chunk", id }, part.value);
      }
      this.send({ kind: "end", id });
      this.change({ answered: this.current.answered + 1 });
    } catch (thrown) {
      if (!abort.signal.aborted) this.send({ kind: "fail", id, message: asLeydenError(thrown).message });
    } finally {
      this.running.delete(id);
    }
  }

  /** Below the address of a rollout there are calls of models and nothing else. */
  private async ask(request: Request, body: Uint8Array<ArrayBuffer>, signal: AbortSignal): Promise<Response> {
    const [, name = this.ownName, path = request.path] = named.exec(request.path) ?? [];
    const rollout = `relay-${name}`;
    await this.openRollout(rollout);
    const init = { method: request.method, headers: request.headers.map(([k, v]): [string, string] => [k, v]), signal };
    const hasBody = request.method !== "GET" && request.method !== "HEAD";
    return await this.backend.fetch(`/r/${rollout}/0/train${path}`, hasBody ? { ...init, body } : init);
  }

  private openRollout(id: string): Promise<void> {
    let opened = this.rollouts.get(id);
    if (opened === undefined) {
      opened = this.createRollout(id);
      this.rollouts.set(id, opened);
      opened.catch(() => this.rollouts.delete(id));
    }
    return opened;
  }

  private async createRollout(id: string): Promise<void> {
    const create = [{ rollout_id: id, input: { program: "relay" }, metadata: externallyRun }];
    const response = await this.backend.fetch("/api/rollouts", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(create),
    });
    if (!response.ok) throw new Error((await faultIn(response)).message);
  }
}

function keepToken(token: string): void {
  try {
    sessionStorage.setItem(tokenKey, token);
  } catch {
    // After a reload the relay must be started again.
  }
}

/** The token of the connection before a reload. */
export function keptToken(): string | null {
  try {
    return sessionStorage.getItem(tokenKey);
  } catch {
    return null;
  }
}
