import { encodeRelayFrame, type RelayFrame, relayCloseCodes, relaySocketPath } from "../../schema/relay.ts";
import type { PageBackend } from "./backend.ts";
import { RelayCalls, type RelayCounts } from "./relay_calls.ts";

/** Where the connection to the relay stands. */
export interface RelayState extends RelayCounts {
  readonly phase: "connecting" | "open" | "used" | "closed";
  /** Why it is closed; empty otherwise. */
  readonly reason: string;
}

const tokenKey = "leyden.relay";
const retryMs = 1_000;

/** The tab's end of a relay: takes requests of programs and answers them by the tab's gateway. */
export class RelayClient {
  private current: RelayState = { phase: "connecting", reason: "", answered: 0, unread: 0 };
  private token: string;
  private socket: WebSocket | null = null;
  private readonly told: (state: RelayState) => void;
  private readonly calls: RelayCalls;
  private closed = false;

  /** `token`: of the address, or of the connection before a reload. */
  constructor(backend: PageBackend, token: string, told: (state: RelayState) => void) {
    this.token = token;
    this.told = told;
    this.calls = new RelayCalls({
      backend,
      send: (frame, payload) => this.send(frame, payload),
      welcomed: (next) => {
        this.token = next;
        keepToken(next);
        this.change({ phase: "open", reason: "" });
      },
      counted: (counts) => this.change(counts),
    });
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
    socket.addEventListener("message", (event) => this.calls.receive(new Uint8Array(event.data as ArrayBuffer)));
    socket.addEventListener("close", ({ code, reason }) => this.lost(code, reason));
  }

  private lost(code: number, reason: string): void {
    this.calls.end();
    if (this.closed) return;
    if (code === relayCloseCodes.badToken) {
      this.change({ phase: "used", reason });
      return;
    }
    this.change({ phase: "closed", reason });
    if (code !== relayCloseCodes.replaced) setTimeout(() => this.closed || this.connect(), retryMs);
  }

  private send(frame: RelayFrame, payload?: Uint8Array): void {
    if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(encodeRelayFrame(frame, payload));
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
