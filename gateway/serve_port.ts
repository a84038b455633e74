/** The gateway at the end of a message port: in a tab, where nothing can listen. */
import type { PortAnswer, PortAsk, PortRequest } from "../src/schema/http_port.ts";
import type { GatewayApp } from "./app.ts";

/** A request that is being answered. */
interface Answering {
  readonly stop: AbortController;
  reader: ReadableStreamDefaultReader<Uint8Array> | null;
}

/** Answers what comes through `port` until the returned function is called; that ends what is under way. */
export function servePort(app: Pick<GatewayApp, "fetch">, port: MessagePort): () => void {
  const under = new Map<number, Answering>();
  const send = (answer: PortAnswer, transfer: Transferable[] = []): void => port.postMessage(answer, transfer);
  const finish = (id: number, last: PortAnswer): void => {
    // Nobody waits for the end of what was cancelled.
    if (under.delete(id)) send(last);
  };
  const fail = (id: number, thrown: unknown): void => {
    const message = thrown instanceof Error ? thrown.message : String(thrown);
    finish(id, { kind: "http_error", id, message });
  };
  const begin = async (id: number, request: PortRequest): Promise<void> => {
    const answering: Answering = { stop: new AbortController(), reader: null };
    under.set(id, answering);
    const response = await app.fetch(requestOf(request, answering.stop.signal));
    answering.reader = response.body?.getReader() ?? null;
    if (answering.stop.signal.aborted) {
      await answering.reader?.cancel();
      return;
    }
    const { status, statusText, headers } = response;
    send({ kind: "http_head", id, head: { status, statusText, headers: [...headers] } });
    if (answering.reader === null) finish(id, { kind: "http_end", id });
  };
  const pull = async (id: number): Promise<void> => {
    const { done, value } = (await under.get(id)?.reader?.read()) ?? { done: true, value: undefined };
    if (done) {
      finish(id, { kind: "http_end", id });
      return;
    }
    // A copy: the part may be a view into what the application goes on using.
    const bytes = value.slice();
    if (under.has(id)) send({ kind: "http_part", id, bytes }, [bytes.buffer]);
  };
  const cancel = async (id: number): Promise<void> => {
    const answering = under.get(id);
    under.delete(id);
    answering?.stop.abort();
    await answering?.reader?.cancel();
  };
  port.onmessage = ({ data }: MessageEvent<PortAsk>) => {
    const { id } = data;
    if (data.kind === "http_request") begin(id, data.request).catch((thrown) => fail(id, thrown));
    else if (data.kind === "http_pull") pull(id).catch((thrown) => fail(id, thrown));
    else cancel(id).catch(() => {});
  };
  return () => {
    for (const id of [...under.keys()]) cancel(id).catch(() => {});
    port.close();
  };
}

function requestOf({ method, url, headers, body }: PortRequest, signal: AbortSignal): Request {
  const pairs = headers.map(([name, value]): [string, string] => [name, value]);
  return new Request(url, { method, headers: pairs, body, signal });
}
