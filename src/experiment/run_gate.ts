import { CancelledError } from "../core/errors.ts";

/** Stands between two updates of a loop: lets them pass, holds them, or lets one pass. */
export class RunGate {
  /** Updates that may still begin. */
  private allowed: number;
  /** Lets the loop that waits here go on; null while it is at work. */
  private release: (() => void) | null = null;
  private ended = false;
  private readonly told = new Set<() => void>();

  /** `open` false: the first update waits. */
  constructor(open = true) {
    this.allowed = open ? Number.POSITIVE_INFINITY : 0;
  }

  /** True while the loop waits here. */
  get isHolding(): boolean {
    return this.release !== null;
  }

  /** True when no further update may begin. */
  get isShut(): boolean {
    return this.allowed === 0;
  }

  /** The loop's side: resolves when the next update may begin. @throws CancelledError when the signal fires first */
  async pass(signal: AbortSignal): Promise<void> {
    if (this.allowed === 0 && !signal.aborted) await this.hold(signal);
    if (signal.aborted) throw new CancelledError("The run");
    this.allowed--;
  }

  /** Lets no further update begin; resolves when the one under way has ended. */
  async pause(): Promise<void> {
    this.allowed = 0;
    await this.held();
  }

  /** Lets all updates pass. */
  resume(): void {
    this.allowed = Number.POSITIVE_INFINITY;
    this.release?.();
  }

  /** Lets one update pass; resolves when it has ended. */
  async step(): Promise<void> {
    this.allowed = 1;
    this.release?.();
    await this.held();
  }

  /** The loop is over: nobody waits for it any more. */
  end(): void {
    this.ended = true;
    this.tell();
  }

  private async hold(signal: AbortSignal): Promise<void> {
    await new Promise<void>((resolve) => {
      const release = (): void => {
        signal.removeEventListener("abort", release);
        this.release = null;
        resolve();
      };
      this.release = release;
      signal.addEventListener("abort", release, { once: true });
      this.tell();
    });
  }

  /** Resolves when the loop waits here or is over. */
  private held(): Promise<void> {
    return new Promise((resolve) => {
      const look = (): void => {
        if (this.release === null && !this.ended) return;
        this.told.delete(look);
        resolve();
      };
      this.told.add(look);
      look();
    });
  }

  private tell(): void {
    for (const look of [...this.told]) look();
  }
}
