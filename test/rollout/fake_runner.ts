import type { AttemptEnd, StopReason } from "../../src/rollout/failure.ts";
import type { AttemptRunner, AttemptSpec, AttemptWatch } from "../../src/rollout/process_runner.ts";

/** An attempt that a test ends by hand. */
export class FakeAttempt {
  readonly spec: AttemptSpec;
  readonly watch: AttemptWatch;
  readonly ended: Promise<AttemptEnd>;
  private resolve: (end: AttemptEnd) => void = () => undefined;

  constructor(spec: AttemptSpec, watch: AttemptWatch) {
    this.spec = spec;
    this.watch = watch;
    this.ended = new Promise((resolve) => {
      this.resolve = resolve;
    });
    watch.signal.addEventListener("abort", () => this.end(null, watch.signal.reason as StopReason));
  }

  get id(): string {
    return `${this.spec.rollout.rollout_id}/${this.spec.attemptId}`;
  }

  exit(code: number): void {
    this.end({ code, signal: null });
  }

  /** Exits with code 0 after part of its output was lost. */
  exitWithLostOutput(reason: string): void {
    this.end({ code: 0, signal: null }, null, reason);
  }

  killed(signal: string): void {
    this.end({ code: null, signal });
  }

  private end(
    exit: { code: number | null; signal: string | null } | null,
    stopped: StopReason | null = null,
    outputError: string | null = null,
  ): void {
    const full = exit === null ? null : { ...exit, outputBytes: 0, overflowed: false, outputError };
    this.resolve({ exit: full, stopped, startError: null, workspace: null, startedAt: 10, endedAt: 12 });
  }
}

/** Runs nothing: attempts wait until the test ends them. */
export class FakeRunner implements AttemptRunner {
  /** Every attempt ever started, in order. */
  readonly attempts: FakeAttempt[] = [];

  run(spec: AttemptSpec, watch: AttemptWatch): Promise<AttemptEnd> {
    const attempt = new FakeAttempt(spec, watch);
    this.attempts.push(attempt);
    watch.onStarted();
    return attempt.ended;
  }

  /** The attempt "rollout/attempt", once it has started. */
  async started(id: string): Promise<FakeAttempt> {
    for (;;) {
      const attempt = this.attempts.find((candidate) => candidate.id === id);
      if (attempt) return attempt;
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  get ids(): string[] {
    return this.attempts.map((attempt) => attempt.id);
  }
}
