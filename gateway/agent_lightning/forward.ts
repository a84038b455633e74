/** A call sent on to a registered endpoint, with Agent Lightning's retries. */
import type { Clock, Entropy } from "../../src/core/clock.ts";
import { CancelledError } from "../../src/core/errors.ts";
import { DetailError } from "../http/errors.ts";

/** What an endpoint answered in the end. */
export interface Forwarded {
  status: number;
  /** Its JSON; `{}` when its content type is another. */
  body: unknown;
  /** Index of the try that gave it. */
  retryCount: number;
}

/** What forwarding takes. */
export interface ForwardDeps {
  clock: Clock;
  entropy: Entropy;
  fetch: (url: string, init: RequestInit) => Promise<Response>;
  timeoutMs: number;
}

/** An endpoint gave no answer after every try. */
export class UpstreamError extends DetailError {
  readonly retryCount: number;

  constructor(status: 502 | 504, detail: string, retryCount: number) {
    super(status, detail);
    this.retryCount = retryCount;
  }
}

const tries = 6;

function isRetryable(status: number): boolean {
  return status === 408 || status === 409 || status === 429 || status >= 500;
}

/** Milliseconds before try k + 1: min(0.5 * 2^k, 8) s, times a factor between 0.75 and 1.25. */
export function retryWaitMs(k: number, entropy: Entropy): number {
  const [high = 0, low = 0] = entropy.bytes(2);
  const factor = 0.75 + (0.5 * (high * 256 + low)) / 65535;
  return Math.min(0.5 * 2 ** k, 8) * 1000 * factor;
}

type Try = Omit<Forwarded, "retryCount"> | "timeout" | "transport";

/** Ends when `body` settles, when the time is up ("timeout"), or when the signal fires (throws). */
async function within<T>(deps: ForwardDeps, signal: AbortSignal, body: (stop: AbortSignal) => Promise<T>) {
  const stop = new AbortController();
  const timer = new AbortController();
  let timedOut = false;
  const end = () => stop.abort();
  signal.addEventListener("abort", end, { once: true });
  const timeout = deps.clock.sleep(deps.timeoutMs, timer.signal).then(
    () => {
      timedOut = true;
      stop.abort();
    },
    () => {},
  );
  try {
    return await body(stop.signal);
  } catch (thrown) {
    if (signal.aborted) throw new CancelledError("A forwarded call");
    if (timedOut) return "timeout";
    throw thrown;
  } finally {
    signal.removeEventListener("abort", end);
    timer.abort();
    await timeout;
  }
}

async function send(deps: ForwardDeps, url: string, json: string, signal: AbortSignal): Promise<Try> {
  return await within(deps, signal, async (stop): Promise<Try> => {
    let response: Response;
    let text: string;
    try {
      const headers = { "content-type": "application/json" };
      response = await deps.fetch(url, { method: "POST", headers, body: json, redirect: "manual", signal: stop });
      text = await response.text();
    } catch (thrown) {
      if (stop.aborted) throw thrown;
      return "transport";
    }
    const isJson = response.headers.get("content-type")?.startsWith("application/json") ?? false;
    return { status: response.status, body: isJson ? (JSON.parse(text) as unknown) : {} };
  });
}

/**
 * Posts the body and returns the answer; tries again, up to six times, on a timeout, a broken connection, and the
 * statuses 408, 409, 429 and from 500.
 * @throws UpstreamError 504 or 502 when the last try gave no answer; SyntaxError for malformed JSON; CancelledError
 */
export async function forward(
  deps: ForwardDeps,
  url: string,
  body: Readonly<Record<string, unknown>>,
  signal: AbortSignal,
): Promise<Forwarded> {
  const json = JSON.stringify(body);
  for (let retryCount = 0; ; retryCount++) {
    const result = await send(deps, url, json, signal);
    const isLast = retryCount === tries - 1;
    if (typeof result === "object" && (isLast || !isRetryable(result.status))) return { ...result, retryCount };
    if (isLast && result === "timeout") throw new UpstreamError(504, "Upstream model server timed out", retryCount);
    if (isLast) throw new UpstreamError(502, "Upstream model server request failed", retryCount);
    await deps.clock.sleep(retryWaitMs(retryCount, deps.entropy), signal);
  }
}
