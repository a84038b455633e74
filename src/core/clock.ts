/** Time, injected so that tests can drive it. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Monotonic milliseconds, for durations. */
  monotonic(): number;
  /** Resolves after `ms`; rejects with CancelledError when the signal fires first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Milliseconds between two times of `now` that this thread stood still, stopped from outside; absent: it never does. */
  stoodStill?(from: number, to: number): number;
}

/** Unpredictable bytes for keys and ids. */
export interface Entropy {
  /** `n` random bytes. */
  bytes(n: number): Uint8Array;
}

/** LEYDEN_* and OTEL_* variables and nothing else of the environment, read once by a platform. */
export type Env = Readonly<Record<string, string | undefined>>;

/** Lower-case hexadecimal text of bytes. */
export function hex(bytes: Uint8Array): string {
  let out = "";
  for (const b of bytes) out += b.toString(16).padStart(2, "0");
  return out;
}
