import { asLeydenError, LeydenError } from "../../core/errors.ts";
import {
  decodeRelayFrame,
  encodeRelayFrame,
  type RelayFrame,
  relayCloseCodes,
  relayWindowBytes,
} from "../../schema/relay.ts";

/** A WebSocket as the relay uses it. */
export interface RelaySocket {
  send(bytes: Uint8Array<ArrayBuffer>): void;
  close(code: number, reason: string): void;
  onMessage(receive: (bytes: Uint8Array) => void): void;
  onClose(closed: () => void): void;
}

/** A request on its way to the tab. */
interface Pending {
  readonly head: PromiseWithResolvers<Response>;
  body: ReadableStreamDefaultController<Uint8Array> | null;
  /** Bytes of the body that the tab has sent, and those of them that it was told the program has taken. */
  sentBytes: number;
  toldBytes: number;
}

/** The tab is told of what was taken in parts of its window. */
const leastToldBytes = relayWindowBytes / 4;

/** The tab is not there, or left before it had answered. */
export class TabGoneError extends LeydenError {
  constructor(message: string) {
    super("tab_gone", message, { do: "Open the address that leyden relay printed, and keep that tab open." }, 3);
  }
}

/** Requests to one tab and its answers, over one connection. */
export class TabLink {
  private readonly socket: RelaySocket;
  private readonly pending = new Map<number, Pending>();
  private next = 0;

  constructor(socket: RelaySocket) {
    this.socket = socket;
    socket.onMessage((bytes) => this.receive(bytes));
    socket.onClose(() => this.end());
  }

  /** Requests that wait for their answer or its end. */
  get waiting(): number {
    return this.pending.size;
  }

  /** Sends a request; its answer streams. @throws TabGoneError; LeydenError "tab_failed"; FormatError "relay_message" */
  ask(
    request: Omit<Extract<RelayFrame, { kind: "request" }>, "kind" | "id">,
    body: Uint8Array,
    signal: AbortSignal,
  ): Promise<Response> {
    const id = this.next++;
    const message = encodeRelayFrame({ kind: "request", id, ...request }, body);
    const pending: Pending = { head: Promise.withResolvers(), body: null, sentBytes: 0, toldBytes: 0 };
    this.pending.set(id, pending);
    this.socket.send(message);
    const cancel = (): void => this.cancel(id);
    if (signal.aborted) cancel();
    else signal.addEventListener("abort", cancel, { once: true });
    return pending.head.promise;
  }

  /** Ends the connection; what waits fails. */
  close(code: number, reason: string): void {
    this.socket.close(code, reason);
    this.end();
  }

  private cancel(id: number): void {
    const pending = this.pending.get(id);
    if (pending === undefined) return;
    this.pending.delete(id);
    this.socket.send(encodeRelayFrame({ kind: "cancel", id }));
    pending.head.reject(new TabGoneError("The program left before its answer."));
  }

  private receive(bytes: Uint8Array): void {
    try {
      const { frame, payload } = decodeRelayFrame(bytes);
      if ("id" in frame) this.answer(frame, payload);
    } catch (thrown) {
      this.close(relayCloseCodes.badMessage, asLeydenError(thrown).message.slice(0, 100));
    }
  }

  private answer(frame: Extract<RelayFrame, { id: number }>, payload: Uint8Array): void {
    const pending = this.pending.get(frame.id);
    // The program may have gone while the tab was still answering.
    if (pending === undefined) return;
    if (frame.kind === "head") this.begin(frame, pending);
    else if (frame.kind === "fail") {
      this.pending.delete(frame.id);
      fail(pending, tabFailed(`The tab could not answer: ${frame.message}`));
    } else if (frame.kind === "chunk" || frame.kind === "end") {
      if (pending.body === null) this.breakOff(frame.id, pending, "The tab went on with an answer not begun.");
      else if (frame.kind === "chunk") this.pass(frame.id, pending, pending.body, payload);
      else {
        this.pending.delete(frame.id);
        pending.body.close();
      }
    }
  }

  /** Gives a piece to the program; what the tab sends beyond its window would fill this process's memory. */
  private pass(
    id: number,
    pending: Pending,
    body: ReadableStreamDefaultController<Uint8Array>,
    payload: Uint8Array,
  ): void {
    if (pending.sentBytes + payload.length - pending.toldBytes > relayWindowBytes) {
      this.breakOff(id, pending, `The tab sent more than ${relayWindowBytes} bytes that the program had not taken.`);
      return;
    }
    pending.sentBytes += payload.length;
    body.enqueue(payload.slice());
  }

  /** Tells the tab how much the program has taken. */
  private acknowledge(id: number, pending: Pending): void {
    const queued = relayWindowBytes - (pending.body?.desiredSize ?? 0);
    const bytes = pending.sentBytes - queued - pending.toldBytes;
    if (bytes < leastToldBytes || this.pending.get(id) !== pending) return;
    pending.toldBytes += bytes;
    this.socket.send(encodeRelayFrame({ kind: "taken", id, bytes }));
  }

  private begin({ id, status, headers }: Extract<RelayFrame, { kind: "head" }>, pending: Pending): void {
    if (pending.body !== null) {
      this.breakOff(id, pending, "The tab began an answer twice.");
      return;
    }
    const body = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          pending.body = controller;
        },
        pull: () => this.acknowledge(id, pending),
        cancel: () => this.cancel(id),
      },
      new ByteLengthQueuingStrategy({ highWaterMark: relayWindowBytes }),
    );
    const isEmpty = status === 204 || status === 205 || status === 304;
    try {
      // Made first, so that a name that is none is the tab's fault here and not found while the answer is sent.
      const fields = new Headers(headers.map(([name, value]): [string, string] => [name, value]));
      pending.head.resolve(new Response(isEmpty ? null : body, { status, headers: fields }));
    } catch (thrown) {
      this.breakOff(id, pending, `The tab's answer cannot be sent: ${asLeydenError(thrown).message}`);
    }
  }

  /** Ends one answer whose messages make none; the connection and other answers stay. */
  private breakOff(id: number, pending: Pending, message: string): void {
    this.pending.delete(id);
    this.socket.send(encodeRelayFrame({ kind: "cancel", id }));
    fail(pending, tabFailed(message));
  }

  private end(): void {
    const gone = new TabGoneError("The tab was closed before it had answered.");
    for (const pending of this.pending.values()) fail(pending, gone);
    this.pending.clear();
  }
}

function tabFailed(message: string): LeydenError {
  return new LeydenError("tab_failed", message, {}, 1);
}

function fail(pending: Pending, error: LeydenError): void {
  pending.head.reject(error);
  pending.body?.error(error);
}
