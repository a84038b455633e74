import type { Clock } from "../core/clock.ts";

/** Share of a new measurement in the running one: one slow submit on a busy machine is not the rule. */
const newShare = 0.5;

/**
 * Measures the submits of interruptible passes, and says how many tokens a pass may have so that none of its submits
 * takes longer than the device should go without an interruption.
 */
export class QuantumMeter {
  private readonly clock: Clock;
  private readonly limitMs: number;
  /** Longest submit of a pass per token of it; null before the first. */
  private msPerToken: number | null = null;

  constructor(clock: Clock, limitMs: number) {
    this.clock = clock;
    this.limitMs = limitMs;
  }

  /** Most tokens of a pass; Infinity before anything was measured. */
  get mostTokens(): number {
    return this.msPerToken === null ? Number.POSITIVE_INFINITY : Math.floor(this.limitMs / this.msPerToken);
  }

  /** Runs a pass over `tokens` tokens; time within `between` belongs to others and is not counted. */
  async watch<T>(
    tokens: number,
    between: () => Promise<void>,
    pass: (between: () => Promise<void>) => Promise<T>,
  ): Promise<T> {
    let since = this.clock.monotonic();
    let longest = 0;
    const stop = (): void => {
      longest = Math.max(longest, this.clock.monotonic() - since);
    };
    const result = await pass(async () => {
      stop();
      await between();
      since = this.clock.monotonic();
    });
    stop();
    const measured = longest / tokens;
    this.msPerToken = this.msPerToken === null ? measured : this.msPerToken + newShare * (measured - this.msPerToken);
    return result;
  }
}
