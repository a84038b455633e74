/**
 * Sending a finished reply. A generation is finished before anything of it is sent, so that a failure has a status of
 * its own; and whether the client took all of it is told to the caller, since a reply that was not is no turn.
 */
import type { Clock } from "../../src/core/clock.ts";

/** Told once, when a reply was taken to its end, or was not. */
export interface DeliveryWatch {
  delivered(): void;
  abandoned(): void;
}

/** When a stream begins without its reply, and how it is kept alive. */
export interface HoldOptions {
  clock: Clock;
  holdHeadersMs: number;
  keepAliveMs: number;
  /** The comment to send; null holds the headers as long as it takes. */
  keepAlive: string | null;
  /** Content type where it is not that of server-sent events. */
  contentType?: string | null;
}

const encoder = new TextEncoder();

function streamHeaders({ contentType }: HoldOptions): Record<string, string> {
  return { "content-type": contentType ?? "text/event-stream; charset=utf-8", "cache-control": "no-cache" };
}

/**
 * A body that gives one part per read, and says what became of it. A stream's last part ends it (`terminated`): who
 * took that part has the reply, and may leave without reading on.
 */
function watchedBody(
  parts: readonly Uint8Array[],
  watch: DeliveryWatch,
  { terminated }: { terminated: boolean },
): ReadableStream<Uint8Array> {
  let next = 0;
  return new ReadableStream(
    {
      pull(controller) {
        const part = parts[next++];
        if (part) {
          controller.enqueue(part);
          return;
        }
        controller.close();
        watch.delivered();
      },
      cancel: () => (terminated && next >= parts.length ? watch.delivered() : watch.abandoned()),
    },
    // Nothing is read ahead: a read beyond the last part means that all parts were taken.
    { highWaterMark: 0 },
  );
}

/** A JSON reply whose delivery is watched, with further headers. */
export function jsonReply(
  status: number,
  json: unknown,
  watch: DeliveryWatch,
  further: Readonly<Record<string, string>> = {},
): Response {
  const bytes = encoder.encode(JSON.stringify(json));
  const headers = { "content-type": "application/json", "content-length": String(bytes.byteLength), ...further };
  return new Response(watchedBody([bytes], watch, { terminated: false }), { status, headers });
}

/** What a stream is made of once the generation has finished. */
export interface StreamReply {
  /** The last one is the terminator: no client takes the reply for whole without it. */
  events: readonly string[];
  watch: DeliveryWatch;
}

/** A reason to end a timer; without one, a signal makes an exception with a stack each time. */
const inTime = "in time";

/** Ends when `work` settles or the time is up, whichever comes first; true when `work` has settled. */
async function settledWithin(work: Promise<unknown>, ms: number, clock: Clock): Promise<boolean> {
  const timer = new AbortController();
  const done = work.then(
    () => true,
    () => true,
  );
  const late = clock.sleep(ms, timer.signal).then(
    () => false,
    () => true,
  );
  try {
    return await Promise.race([done, late]);
  } finally {
    timer.abort(inTime);
  }
}

/** Characters of events that are sent as one part. */
const partCharacters = 16_384;

/**
 * The events of a finished reply in parts, its terminator in one of its own: a stream that is complete already need not
 * be written event by event, and a long one still leaves at its reader's pace.
 */
function partsOf(events: readonly string[]): Uint8Array[] {
  const parts: string[] = [];
  for (const event of events.slice(0, -1)) {
    const last = parts.at(-1);
    if (last !== undefined && last.length + event.length <= partCharacters) parts[parts.length - 1] = last + event;
    else parts.push(event);
  }
  return [...parts, ...events.slice(-1)].map((part) => encoder.encode(part));
}

/**
 * A stream of the reply that `work` makes: at once when it comes in time, else a kept-alive stream that ends with the
 * reply, or breaks when `work` fails; never a clean end without one.
 * @throws whatever `work` throws in time; then nothing was sent
 */
export async function streamReply(work: Promise<StreamReply>, hold: HoldOptions): Promise<Response> {
  const { clock, holdHeadersMs, keepAliveMs, keepAlive } = hold;
  if (keepAlive === null || (await settledWithin(work, holdHeadersMs, clock))) {
    const { events, watch } = await work;
    return new Response(watchedBody(partsOf(events), watch, { terminated: true }), { headers: streamHeaders(hold) });
  }
  let rest: ReadableStreamDefaultReader<Uint8Array> | null = null;
  let gone = false;
  const comment = encoder.encode(keepAlive);
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        if (!rest && !(await settledWithin(work, keepAliveMs, clock))) {
          controller.enqueue(comment);
          return;
        }
        const { events, watch } = await work;
        if (gone) return;
        rest ??= watchedBody(partsOf(events), watch, { terminated: true }).getReader();
        const { done, value } = await rest.read();
        if (done) controller.close();
        else controller.enqueue(value);
      },
      async cancel() {
        gone = true;
        if (rest) await rest.cancel();
        // The call's signal ends the generation; should its reply be there already, nobody takes it.
        else work.then(({ watch }) => watch.abandoned()).catch(() => {});
      },
    },
    { highWaterMark: 0 },
  );
  return new Response(body, { headers: streamHeaders(hold) });
}
