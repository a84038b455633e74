import { AwakeClock } from "../awake_clock.ts";

/** A timer as Node's are: an object that may be told not to keep the program alive. */
class CountedTimer {
  /** The worker's own timer: another one once the wait was made longer. */
  native: number;
  private readonly id: number;
  private release: () => void;
  private readonly hold: () => () => void;
  private held = true;

  constructor(id: number, hold: () => () => void) {
    this.id = id;
    this.native = id;
    this.hold = hold;
    this.release = hold();
  }

  /** The program may end although the timer runs. */
  unref(): this {
    this.held = false;
    this.release();
    return this;
  }

  /** The program waits for the timer again. */
  ref(): this {
    if (!this.held) this.release = this.hold();
    this.held = true;
    return this;
  }

  hasRef(): boolean {
    return this.held;
  }

  /** Nothing waits for it any more. */
  done(): void {
    this.release();
  }

  [Symbol.toPrimitive](): number {
    return this.id;
  }
}

/** Longer ones overflow. */
const longestTimerMs = 2 ** 31 - 1;

type TimerCallback = (...args: unknown[]) => void;

/**
 * What keeps a script alive: requests, bodies being read, timers. A process ends when none is left; a worker would stay,
 * so they are counted.
 */
export class PendingWork {
  private count = 0;
  private readonly timers = new Map<number, CountedTimer>();
  /** A program's own limits leave out what its tab stood still, as a process's do with a sleep of its computer. */
  private readonly clock = new AwakeClock({
    now: () => Date.now(),
    monotonic: () => performance.now(),
    sleep: (ms) => this.sleep(ms),
  });
  private readonly native = { setTimeout, clearTimeout, setInterval, clearInterval, fetch: globalThis.fetch };

  /** True when nothing is under way. */
  get isIdle(): boolean {
    return this.count === 0;
  }

  /** One more thing is under way, until the returned function is called. */
  begin(): () => void {
    this.count++;
    let open = true;
    return () => {
      if (open) this.count--;
      open = false;
    };
  }

  /** Waits without being counted. */
  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.native.setTimeout.call(globalThis, resolve, ms);
    });
  }

  /** Puts counted timers in the place of the worker's own. */
  watchTimers(): void {
    const { clearTimeout: clear, setInterval: repeat, clearInterval: end } = this.native;
    const once = (run: TimerCallback, ms?: unknown, ...args: unknown[]): CountedTimer => this.once(run, ms, args);
    Object.assign(globalThis, {
      setTimeout: once,
      clearTimeout: (timer: unknown) => clear.call(globalThis, this.forget(timer)),
      setInterval: (run: TimerCallback, ms?: number, ...args: unknown[]) =>
        this.keep(repeat.call(globalThis, () => run(...args), ms) as unknown as number),
      clearInterval: (timer: unknown) => end.call(globalThis, this.forget(timer)),
      setImmediate: (run: TimerCallback, ...args: unknown[]) => once(run, 0, ...args),
      clearImmediate: (timer: unknown) => clear.call(globalThis, this.forget(timer)),
    });
    AbortSignal.timeout = (ms) => {
      const late = new AbortController();
      once(() => late.abort(new DOMException("The operation timed out.", "TimeoutError")), ms).unref();
      return late.signal;
    };
  }

  /** A timer that fires when its time has passed while the tab was awake. */
  private once(run: TimerCallback, asked: unknown, args: readonly unknown[]): CountedTimer {
    const ms = Math.max(0, Number(asked) || 0);
    // As Node does with one that is too long for a timer.
    const wait = ms > longestTimerMs ? 1 : ms;
    const due = this.clock.monotonic() + wait;
    const fire = (): void => {
      const rest = due - this.clock.monotonic();
      if (rest >= 1) {
        timer.native = this.arm(fire, rest);
        return;
      }
      this.forget(timer);
      run(...args);
    };
    const timer = this.keep(this.arm(fire, wait));
    return timer;
  }

  private arm(fire: () => void, ms: number): number {
    return this.native.setTimeout.call(globalThis, fire, ms) as unknown as number;
  }

  private keep(id: number): CountedTimer {
    const timer = new CountedTimer(id, () => this.begin());
    this.timers.set(id, timer);
    return timer;
  }

  /** Counts a timer no longer; returns the worker's own to be cleared. */
  private forget(timer: unknown): number {
    const id = Number(timer);
    const counted = this.timers.get(id);
    counted?.done();
    this.timers.delete(id);
    return counted?.native ?? id;
  }

  /** Puts a counted fetch in the place of the worker's own; `send` answers those requests it knows, else null. */
  watchFetch(send: (request: Request) => Promise<Response> | null): void {
    const native = this.native.fetch;
    globalThis.fetch = async (input, init) => {
      const done = this.begin();
      try {
        const request = new Request(input, init);
        return this.watched(await (send(request) ?? native.call(globalThis, request)), request.url);
      } finally {
        done();
      }
    };
  }

  /** The response with its body counted while somebody reads it, and its address where it came without one. */
  private watched(response: Response, asked: string): Response {
    const reader = response.body?.getReader();
    if (reader === undefined) return response;
    const body = new ReadableStream<Uint8Array>(
      {
        pull: async (controller) => {
          const done = this.begin();
          try {
            const part = await reader.read();
            if (part.done) controller.close();
            else controller.enqueue(part.value);
          } finally {
            done();
          }
        },
        cancel: (reason) => reader.cancel(reason),
      },
      { highWaterMark: 0 },
    );
    const { status, statusText, headers, url } = response;
    const watched = new Response(body, { status, statusText, headers });
    return Object.defineProperty(watched, "url", { value: url || asked });
  }
}
