import type { PortAnswer, PortAsk, PortRequest, PortResponseHead } from "../../src/schema/http_port.ts";

/** Statuses whose responses have no body. */
const bodiless: readonly number[] = [101, 204, 205, 304];

/** One request on its way. */
interface Exchange {
  head(head: PortResponseHead): void;
  part(bytes: Uint8Array): void;
  end(): void;
  fail(error: Error): void;
}

/** The request as it goes through a port; its body is read whole. */
export async function portRequest(request: Request): Promise<PortRequest> {
  const { method, url } = request;
  const body = request.body === null ? null : await request.arrayBuffer();
  return { method, url, headers: [...request.headers], body };
}

/** Asks a gateway at the other end of a port, as `fetch` asks a server. */
export class PortClient {
  private readonly port: MessagePort;
  private readonly exchanges = new Map<number, Exchange>();
  private asked = 0;
  private isRetired = false;

  constructor(port: MessagePort) {
    this.port = port;
    port.onmessage = ({ data }: MessageEvent<PortAnswer>) => this.receive(data);
  }

  /**
   * The response to a request; its body is asked for part by part as it is read.
   * @throws TypeError when the other end fails, as fetch does; the signal's reason when it fires
   */
  fetch(request: PortRequest, signal?: AbortSignal): Promise<Response> {
    const id = ++this.asked;
    return new Promise<Response>((resolve, reject) => {
      if (signal?.aborted) {
        reject(signal.reason);
        return;
      }
      const exchange = this.exchange(id, resolve, reject);
      this.exchanges.set(id, exchange);
      signal?.addEventListener("abort", () => this.abort(id, signal.reason), { once: true });
      const { body } = request;
      this.port.postMessage({ kind: "http_request", id, request } satisfies PortAsk, body === null ? [] : [body]);
    });
  }

  /** Fails everything under way and all that follows: the other end is gone. */
  close(error: Error): void {
    for (const exchange of [...this.exchanges.values()]) exchange.fail(error);
    this.exchanges.clear();
    this.port.close();
  }

  /** Lets what is under way end, then lets go of the port; nothing more is asked here. */
  retire(): void {
    this.isRetired = true;
    this.left();
  }

  /** An exchange has ended. */
  private left(): void {
    if (this.isRetired && this.exchanges.size === 0) this.port.close();
  }

  private exchange(id: number, resolve: (response: Response) => void, reject: (error: Error) => void): Exchange {
    let controller: ReadableStreamDefaultController<Uint8Array> | null = null;
    let wanted: (() => void) | null = null;
    const done = (): void => {
      this.exchanges.delete(id);
      wanted?.();
      wanted = null;
      this.left();
    };
    // Nothing is asked for ahead of its reading: what waits for a reader holds nobody up.
    const body = new ReadableStream<Uint8Array>(
      {
        start: (own) => {
          controller = own;
        },
        pull: () =>
          new Promise<void>((given) => {
            wanted = given;
            this.port.postMessage({ kind: "http_pull", id } satisfies PortAsk);
          }),
        cancel: () => this.cancel(id),
      },
      { highWaterMark: 0 },
    );
    return {
      head: ({ status, statusText, headers }) => {
        const init = { status, statusText, headers: headers.map(([name, value]): [string, string] => [name, value]) };
        if (bodiless.includes(status)) done();
        resolve(new Response(bodiless.includes(status) ? null : body, init));
      },
      part: (bytes) => {
        controller?.enqueue(bytes);
        wanted?.();
        wanted = null;
      },
      end: () => {
        controller?.close();
        done();
      },
      fail: (error) => {
        controller?.error(error);
        done();
        reject(error);
      },
    };
  }

  private receive(answer: PortAnswer): void {
    const exchange = this.exchanges.get(answer.id);
    if (answer.kind === "http_head") exchange?.head(answer.head);
    else if (answer.kind === "http_part") exchange?.part(answer.bytes);
    else if (answer.kind === "http_end") exchange?.end();
    else exchange?.fail(new TypeError(answer.message));
  }

  private cancel(id: number): void {
    this.exchanges.delete(id);
    this.port.postMessage({ kind: "http_cancel", id } satisfies PortAsk);
    this.left();
  }

  private abort(id: number, reason: Error): void {
    const exchange = this.exchanges.get(id);
    if (exchange === undefined) return;
    this.cancel(id);
    exchange.fail(reason);
  }
}
