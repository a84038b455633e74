import { CancelledError } from "../core/errors.ts";

interface Waiter {
  look(): void;
  fail(error: Error): void;
}

/** Wakes those who wait for a sequence number. */
export class ChangeFeed {
  private readonly waiting = new Set<Waiter>();

  /** Resolves once `seq()` is greater than `after`. @throws CancelledError when the signal fires first */
  until(after: number, seq: () => number, signal?: AbortSignal): Promise<number> {
    return new Promise((resolve, reject) => {
      const end = () => {
        this.waiting.delete(waiter);
        signal?.removeEventListener("abort", cancel);
      };
      const waiter: Waiter = {
        look() {
          if (seq() <= after) return;
          end();
          resolve(seq());
        },
        fail(error) {
          end();
          reject(error);
        },
      };
      const cancel = () => waiter.fail(new CancelledError("Waiting for the store to change"));
      this.waiting.add(waiter);
      signal?.addEventListener("abort", cancel, { once: true });
      if (signal?.aborted) cancel();
      else waiter.look();
    });
  }

  /** To be called after each commit. */
  wake(): void {
    for (const waiter of [...this.waiting]) waiter.look();
  }

  /** Ends every wait with the error. */
  end(error: Error): void {
    for (const waiter of [...this.waiting]) waiter.fail(error);
  }
}
