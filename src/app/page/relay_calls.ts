import { asLeydenError } from "../../core/errors.ts";
import { callOf, decodeRelayFrame, type RelayFrame, relayWindowBytes } from "../../schema/relay.ts";
import { externallyRun } from "../../schema/rollout.ts";
import { faultIn, type PageBackend } from "./backend.ts";

/** What the calls that come through a relay are answered with, and who hears of them. */
export interface RelayCallsOptions {
  /** The tab's gateway. */
  readonly backend: Pick<PageBackend, "fetch">;
  /** Sends to the relay, while it is there. @throws FormatError "relay_message" */
  send(frame: RelayFrame, payload?: Uint8Array): void;
  /** The relay has let the tab in; the token is for the next connection. */
  welcomed(token: string): void;
  counted(counts: RelayCounts): void;
}

/** What came through a relay so far. */
export interface RelayCounts {
  /** Requests answered to their end. */
  readonly answered: number;
  /** Messages that could not be read. */
  readonly unread: number;
}

/** Requests are recorded under a rollout of their own when they name one, else under one of the page's. */
const named = /^\/as\/([\w.-]{1,80})(\/.*)$/;

/** Longest piece of an answer in one message. */
const mostPieceBytes = 256 * 2 ** 10;

type Request = Extract<RelayFrame, { kind: "request" }>;

/** An answer on its way. */
interface Running {
  readonly abort: AbortController;
  /** Bytes that may be sent before the program has taken more. */
  credit: number;
  /** Told when there is more credit, or the program has gone. */
  wake(): void;
}

/** Programs' requests and their answers by the tab's gateway. */
export class RelayCalls {
  private readonly options: RelayCallsOptions;
  private counts: RelayCounts = { answered: 0, unread: 0 };
  private readonly running = new Map<number, Running>();
  private readonly rollouts = new Map<string, Promise<void>>();
  private readonly ownName = crypto.randomUUID().slice(0, 8);

  constructor(options: RelayCallsOptions) {
    this.options = options;
  }

  /** Takes a message of the relay's; one that cannot be read is counted, and fails the call that it is about. */
  receive(bytes: Uint8Array): void {
    let read: ReturnType<typeof decodeRelayFrame>;
    try {
      read = decodeRelayFrame(bytes);
    } catch (thrown) {
      this.count({ unread: this.counts.unread + 1 });
      const id = callOf(bytes);
      if (id !== null) this.options.send({ kind: "fail", id, message: asLeydenError(thrown).message });
      return;
    }
    const { frame, payload } = read;
    if (frame.kind === "welcome") this.options.welcomed(frame.token);
    else if (frame.kind === "cancel") this.cancel(frame.id);
    else if (frame.kind === "taken") this.taken(frame);
    else if (frame.kind === "request") void this.answer(frame, payload.slice());
  }

  /** Ends all answers: the relay has gone. */
  end(): void {
    for (const id of this.running.keys()) this.cancel(id);
    this.running.clear();
  }

  private count(part: Partial<RelayCounts>): void {
    this.counts = { ...this.counts, ...part };
    this.options.counted(this.counts);
  }

  private cancel(id: number): void {
    const call = this.running.get(id);
    call?.abort.abort();
    call?.wake();
  }

  private taken({ id, bytes }: Extract<RelayFrame, { kind: "taken" }>): void {
    const call = this.running.get(id);
    if (call === undefined) return;
    call.credit += bytes;
    call.wake();
  }

  private async answer(request: Request, body: Uint8Array<ArrayBuffer>): Promise<void> {
    const { id } = request;
    const { send } = this.options;
    const call: Running = { abort: new AbortController(), credit: relayWindowBytes, wake: () => {} };
    const { signal } = call.abort;
    this.running.set(id, call);
    try {
      const response = await this.ask(request, body, signal);
      send({ kind: "head", id, status: response.status, headers: [...response.headers] });
      const reader = response.body?.getReader();
      for (let part = await reader?.read(); part?.done === false; part = await reader?.read()) {
        await this.sendPieces(id, call, part.value);
      }
      send({ kind: "end", id });
      this.count({ answered: this.counts.answered + 1 });
    } catch (thrown) {
      if (!signal.aborted) send({ kind: "fail", id, message: asLeydenError(thrown).message });
      // Nobody reads on.
      call.abort.abort();
    } finally {
      if (this.running.get(id) === call) this.running.delete(id);
    }
  }

  /** Sends bytes as fast as the program takes them. @throws DOMException "AbortError" once it has gone */
  private async sendPieces(id: number, call: Running, bytes: Uint8Array): Promise<void> {
    for (let start = 0; start < bytes.length; ) {
      while (call.credit === 0 && !call.abort.signal.aborted) {
        await new Promise<void>((resolve) => {
          call.wake = resolve;
        });
      }
      call.abort.signal.throwIfAborted();
      const piece = bytes.subarray(start, start + Math.min(call.credit, mostPieceBytes));
      this.options.send({ kind: "chunk", id }, piece);
      call.credit -= piece.length;
      start += piece.length;
    }
  }

  /** Below the address of a rollout there are calls of models and nothing else. */
  private async ask(request: Request, body: Uint8Array<ArrayBuffer>, signal: AbortSignal): Promise<Response> {
    const [, name = this.ownName, path = request.path] = named.exec(request.path) ?? [];
    const rollout = `relay-${name}`;
    await this.openRollout(rollout);
    const init = { method: request.method, headers: request.headers.map(([k, v]): [string, string] => [k, v]), signal };
    const hasBody = request.method !== "GET" && request.method !== "HEAD";
    return await this.options.backend.fetch(`/r/${rollout}/0/train${path}`, hasBody ? { ...init, body } : init);
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
    const response = await this.options.backend.fetch("/api/rollouts", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(create),
    });
    if (!response.ok) throw new Error((await faultIn(response)).message);
  }
}
