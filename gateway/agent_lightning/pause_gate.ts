import { CancelledError } from "../../src/core/errors.ts";
import type { PauseRequest, PauseState } from "../../src/schema/wire_proxy.ts";

const defaultRetrySeconds = 5;

/** Whether new model calls are admitted, and how many are under way. */
export class PauseGate {
  private paused = false;
  private retryAfterSeconds = defaultRetrySeconds;
  private reason: string | null = null;
  private inflight = 0;
  private readonly waiting = new Set<() => void>();

  state(): PauseState {
    const { paused, retryAfterSeconds, reason, inflight } = this;
    return { paused, retry_after_seconds: retryAfterSeconds, reason, inflight };
  }

  pause({ retry_after_seconds: retryAfterSeconds, reason }: PauseRequest): void {
    this.paused = true;
    this.retryAfterSeconds = retryAfterSeconds ?? defaultRetrySeconds;
    this.reason = reason ?? null;
  }

  resume(): void {
    this.paused = false;
    this.reason = null;
    for (const wake of [...this.waiting]) wake();
  }

  /** Resolves at once, or when the gate opens. @throws CancelledError when the signal fires first */
  opened(signal: AbortSignal): Promise<void> {
    if (!this.paused) return Promise.resolve();
    return new Promise((resolve, reject) => {
      const end = () => {
        this.waiting.delete(wake);
        signal.removeEventListener("abort", cancel);
      };
      const wake = () => {
        end();
        resolve();
      };
      const cancel = () => {
        end();
        reject(new CancelledError("A call that waited for the gateway to resume"));
      };
      this.waiting.add(wake);
      signal.addEventListener("abort", cancel, { once: true });
      if (signal.aborted) cancel();
    });
  }

  /** Counts a call as under way until `body` settles. */
  async count<T>(body: () => Promise<T>): Promise<T> {
    this.inflight++;
    try {
      return await body();
    } finally {
      this.inflight--;
    }
  }
}
