/** A timer as Node's are: an object that may be told not to keep the program alive. */
class CountedTimer {
  private readonly id: number;
  private release: () => void;
  private readonly hold: () => () => void;
  private held = true;

  constructor(id: number, hold: () => () => void) {
    this.id = id;
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

type TimerCallback = (...args: unknown[]) => void;

/**
 * What keeps a script alive: requests, bodies being read, timers. A process ends when none is left; a worker would stay,
 * so they are counted.
 */
export class PendingWork {
  private count = 0;
  private readonly timers = new Map<number, CountedTimer>();
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
    const { setTimeout: set, clearTimeout: clear, setInterval: repeat, clearInterval: end } = this.native;
    const forget = (timer: unknown): number => {
      const id = Number(timer);
      this.timers.get(id)?.done();
      this.timers.delete(id);
      return id;
    };
    const keep = (id: number): CountedTimer => {
      const timer = new CountedTimer(id, () => this.begin());
      this.timers.set(id, timer);
      return timer;
    };
    const once = (run: TimerCallback, ms?: number, ...args: unknown[]): CountedTimer => {
      const id: number = set.call(
        globalThis,
        () => {
          forget(id);
          run(...args);
        },
        ms,
      ) as unknown as number;
      return keep(id);
    };
    Object.assign(globalThis, {
      setTimeout: once,
      clearTimeout: (timer: unknown) => clear.call(globalThis, forget(timer)),
      setInterval: (run: TimerCallback, ms?: number, ...args: unknown[]) =>
        keep(repeat.call(globalThis, () => run(...args), ms) as unknown as number),
      clearInterval: (timer: unknown) => end.call(globalThis, forget(timer)),
      setImmediate: (run: TimerCallback, ...args: unknown[]) => once(run, 0, ...args),
      clearImmediate: (timer: unknown) => clear.call(globalThis, forget(timer)),
    });
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
