import type { Clock, Entropy, Env } from "../core/clock.ts";
import { CancelledError } from "../core/errors.ts";

/** The runtime's own time. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const cancel = () => {
        clearTimeout(timer);
        reject(new CancelledError(`A wait of ${ms} ms`));
      };
      const timer = setTimeout(() => {
        signal?.removeEventListener("abort", cancel);
        resolve();
      }, ms);
      if (signal?.aborted) cancel();
      else signal?.addEventListener("abort", cancel, { once: true });
    });
  },
};

/** The runtime's cryptographic random source. */
export const systemEntropy: Entropy = {
  bytes(n: number): Uint8Array {
    const out = new Uint8Array(n);
    // The source gives at most 65536 bytes at a time.
    for (let at = 0; at < n; at += 65536) crypto.getRandomValues(out.subarray(at, Math.min(n, at + 65536)));
    return out;
  },
};

/** The LEYDEN_* variables among `variables`, and OpenTelemetry's OTEL_*; frozen. */
export function leydenVariables(variables: Readonly<Record<string, string | undefined>>): Env {
  return Object.freeze(Object.fromEntries(Object.entries(variables).filter(([name]) => /^(LEYDEN|OTEL)_/.test(name))));
}
