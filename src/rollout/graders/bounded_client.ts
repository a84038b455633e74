import type { Clock } from "../../core/clock.ts";
import type { BoundedAnswer, BoundedQuestion, BoundedWork } from "../../schema/grader.ts";
import type { WorkerHandle } from "../../schema/platform.ts";
import { boundedReady } from "./bounded_server.ts";

/** How long one question may take, in milliseconds; a reward that is worth having takes one. */
const defaultLimitMs = 5_000;
/** How long a worker may take to start. */
const startLimitMs = 60_000;

/** What questions are answered with. */
export interface BoundedClientDeps {
  /** Starts a worker that serves them; it is started anew where one had to be ended. */
  readonly spawn: () => WorkerHandle;
  readonly clock: Pick<Clock, "sleep">;
  readonly limitMs?: number;
}

/** A worker of which one question is asked at a time. */
interface Asked {
  readonly worker: WorkerHandle;
  readonly ready: Promise<unknown>;
  next: PromiseWithResolvers<unknown>;
}

/**
 * Answers graders' questions in a worker, one after the other, and ends the worker of one that takes too long: one bound
 * for nested loops, texts that double and patterns that backtrack alike, whatever they are made of.
 */
export class BoundedClient implements BoundedWork {
  private readonly deps: BoundedClientDeps;
  private current: Asked | null = null;
  private turn: Promise<unknown> = Promise.resolve();

  constructor(deps: BoundedClientDeps) {
    this.deps = deps;
  }

  ask(question: BoundedQuestion): Promise<BoundedAnswer> {
    const answered = this.turn.then(() => this.answer(question));
    this.turn = answered;
    return answered;
  }

  /** Ends the worker. */
  async close(): Promise<void> {
    const ended = this.current;
    this.current = null;
    ended?.next.reject(new Error("it was ended with its run"));
    await ended?.worker.terminate();
  }

  private async answer(question: BoundedQuestion): Promise<BoundedAnswer> {
    const { limitMs = defaultLimitMs } = this.deps;
    this.current ??= this.start();
    const asked = this.current;
    try {
      await this.within(startLimitMs, asked.ready, `it finds no worker within ${startLimitMs / 1000} s`);
      asked.next = Promise.withResolvers();
      asked.worker.post(question);
      const late = `it takes longer than ${limitMs / 1000} s, and was ended`;
      return (await this.within(limitMs, asked.next.promise, late)) as BoundedAnswer;
    } catch (thrown) {
      if (this.current === asked) this.current = null;
      await asked.worker.terminate();
      return { value: null, fault: thrown instanceof Error ? thrown.message.replace(/\.$/, "") : String(thrown) };
    }
  }

  private start(): Asked {
    const worker = this.deps.spawn();
    const hello = Promise.withResolvers<unknown>();
    const asked: Asked = { worker, ready: hello.promise, next: hello };
    worker.onMessage((message) => (message === boundedReady ? hello : asked.next).resolve(message));
    worker.onError((error) => asked.next.reject(new Error(`it ended its worker: ${error.message}`, { cause: error })));
    return asked;
  }

  private async within(ms: number, work: Promise<unknown>, late: string): Promise<unknown> {
    const timer = new AbortController();
    const over = this.deps.clock.sleep(ms, timer.signal).then(
      () => Promise.reject(new Error(late)),
      () => work,
    );
    try {
      return await Promise.race([work, over]);
    } finally {
      timer.abort("answered");
      over.catch(() => {});
    }
  }
}
