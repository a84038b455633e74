import { asLeydenError, CancelledError, LeydenError } from "../core/errors.ts";
import { isTerminal } from "../schema/rollout.ts";
import type { Rollout } from "../schema/wire.ts";
import type { ControllerDeps, ControllerOptions, ControllerReport } from "./controller_options.ts";
import { type Delivered, deliver, finalRefusals, persist } from "./delivery.ts";
import { type AttemptEnd, type Failure, failure, mayRetry, type StopReason } from "./failure.ts";
import { attemptFolder, loadOutcome, type RolloutOutcome, saveOutcome } from "./outcome.ts";
import type { LastAttempt } from "./settle.ts";
import { lastCallStatus } from "./transcript.ts";

/** The id after an attempt's: "0", "1", ... */
export function nextAttemptId(attemptId: string | null): string {
  if (attemptId === null) return "0";
  return /^[0-9]+$/.test(attemptId) ? String(Number(attemptId) + 1) : `${attemptId}.1`;
}

/** Takes one rollout from its first attempt to its delivered outcome. */
export class AttemptDriver {
  private readonly options: ControllerOptions;
  private readonly deps: ControllerDeps;
  /** Fires when outcomes may no longer be delivered. */
  private readonly closing: AbortSignal;
  private readonly report: (report: ControllerReport) => void;
  /** The current attempt of each rollout at work, and the calls and events seen of it. */
  private readonly atWork = new Map<string, { attemptId: string; seen: number }>();

  constructor(
    options: ControllerOptions,
    deps: ControllerDeps,
    closing: AbortSignal,
    report: (report: ControllerReport) => void,
  ) {
    this.options = options;
    this.deps = deps;
    this.closing = closing;
    this.report = report;
  }

  /** Counts a call or event; ignored for rollouts that are not at work. */
  noteActivity(rolloutId: string): void {
    const work = this.atWork.get(rolloutId);
    if (work !== undefined) work.seen++;
  }

  /** True while a call of the rollout's current attempt waits for its reply. */
  isCalling(rolloutId: string): boolean {
    const work = this.atWork.get(rolloutId);
    return work !== undefined && this.deps.client.waitingCalls(rolloutId, work.attemptId) > 0;
  }

  /** Fails a rollout that gets no attempt (any more). */
  async refuse(rollout: Rollout, reason: Failure): Promise<void> {
    const attemptId = rollout.status.last_attempt_id ?? "0";
    await this.conclude(this.unstarted(rollout, attemptId, []), reason);
  }

  /** Runs attempts until one decides the rollout; the signal's reason is "cancelled" or "shutdown". */
  async drive(rollout: Rollout, signal: AbortSignal): Promise<void> {
    const earlier: Failure[] = [];
    if (rollout.status.state === "running") {
      const stored = await this.storedOutcome(rollout);
      if (stored !== null) return this.finish(stored);
      earlier.push(failure("orphaned", "The controller that ran this rollout is gone."));
      if (!this.retryable(earlier)) return this.refuse(rollout, earlier[0] as Failure);
    }
    try {
      await this.attempts(rollout, earlier, signal);
    } finally {
      this.atWork.delete(rollout.rollout_id);
    }
  }

  private async attempts(rollout: Rollout, earlier: Failure[], signal: AbortSignal): Promise<void> {
    for (let attemptId = nextAttemptId(rollout.status.last_attempt_id); ; attemptId = nextAttemptId(attemptId)) {
      this.atWork.set(rollout.rollout_id, { attemptId, seen: 0 });
      const last = await this.attempt(rollout, attemptId, earlier, signal);
      const failed = this.deps.settler.failureOf(last);
      if (failed?.class === "cancelled") return this.conclude(last, failed);
      if (failed === null) return this.conclude(last, null);
      earlier.push(failed);
      if (!this.retryable(earlier)) return this.conclude({ ...last, earlier: earlier.slice(0, -1) }, failed);
      this.report({ kind: "retry", rolloutId: rollout.rollout_id, attemptId, failure: failed });
      await this.deps.clock.sleep(this.options.retryDelayMs, signal).catch(() => undefined);
    }
  }

  /** Whether the policy allows another attempt after the last of these failures. */
  private retryable(failures: readonly Failure[]): boolean {
    const last = failures.at(-1) as Failure;
    const before = failures.filter((reason) => reason.class === last.class).length - 1;
    return mayRetry(last, before, this.options.retries);
  }

  private async attempt(
    rollout: Rollout,
    attemptId: string,
    earlier: readonly Failure[],
    signal: AbortSignal,
  ): Promise<LastAttempt> {
    const { client, clock, files, runner } = this.deps;
    const id = rollout.rollout_id;
    const startedAt = clock.now() / 1000;
    const again = <T>(action: () => Promise<T>, until: AbortSignal) =>
      persist(clock, until, finalRefusals, action, (error) => this.report({ kind: "error", where: id, error }));
    const last = this.unstarted(rollout, attemptId, earlier, startedAt);
    try {
      await files.makeFolder(last.folder);
      await again(() => this.announce(id, attemptId), signal);
      const access = await again(() => client.access(rollout, attemptId), signal);
      const { agent } = this.options;
      const spec = { rollout, attemptId, folder: last.folder, access, agent, limits: this.limitsOf(rollout) };
      const onStarted = () => this.report({ kind: "started", rolloutId: id, attemptId });
      const end = await runner.run(spec, { signal, onStarted, activity: () => this.activityOf(id, attemptId) });
      this.sayLostOutput(id, end);
      const events = await again(() => client.events(id, attemptId), this.closing);
      const failedCalls = await again(() => client.failedCalls(id, attemptId), this.closing);
      return { ...last, end, events, lastStatus: lastCallStatus(events, failedCalls) };
    } catch (thrown) {
      return { ...last, end: this.endBy(asLeydenError(thrown), startedAt, signal) };
    }
  }

  /** Says at the gateway whose attempt runs, before the agent can call. @throws CancelledError when it is over */
  private async announce(rolloutId: string, attemptId: string): Promise<void> {
    const { client } = this.deps;
    const rollout = await client.get(rolloutId);
    if (rollout === null || isTerminal(rollout.status.state)) throw new CancelledError(`Rollout ${rolloutId}`);
    const state = rollout.status.state === "queuing" ? { state: "running" as const } : {};
    await client.patch(rolloutId, { ...state, last_attempt_id: attemptId });
  }

  private sayLostOutput(rolloutId: string, { exit }: AttemptEnd): void {
    if (exit?.outputError == null) return;
    const message = `Part of the output of rollout ${rolloutId}'s agent was not written: ${exit.outputError}.`;
    const error = new LeydenError("output_lost", message, { do: "Free space on the disk of the run's folder." });
    this.report({ kind: "error", where: rolloutId, error });
  }

  private async activityOf(rolloutId: string, attemptId: string): Promise<number> {
    const { client } = this.deps;
    try {
      if (this.isCalling(rolloutId)) return -1;
      if (client.reportsActivity) return this.atWork.get(rolloutId)?.seen ?? 0;
      return (await client.events(rolloutId, attemptId)).length;
    } catch (thrown) {
      this.report({ kind: "error", where: rolloutId, error: asLeydenError(thrown) });
      return -1;
    }
  }

  private limitsOf(rollout: Rollout): ControllerOptions["limits"] {
    const { limits } = this.options;
    const own = rollout.config.timeout_seconds * 1000;
    const shortest = Math.min(...[limits.runMs, own].filter((ms) => ms > 0));
    return { ...limits, runMs: Number.isFinite(shortest) ? shortest : 0 };
  }

  private unstarted(
    rollout: Rollout,
    attemptId: string,
    earlier: readonly Failure[],
    startedAt = this.deps.clock.now() / 1000,
  ): LastAttempt {
    const folder = attemptFolder(this.deps.files, this.options.runFolder, rollout.rollout_id, attemptId);
    const end = { exit: null, stopped: null, startError: null, workspace: null, startedAt, endedAt: startedAt };
    return { rollout, attemptId, folder, end, events: [], lastStatus: null, earlier };
  }

  /** The end of an attempt that the gateway or the disk did not let happen. */
  private endBy(error: LeydenError, startedAt: number, signal: AbortSignal): AttemptEnd {
    const isOver = finalRefusals.includes(error.code);
    const stopped = signal.aborted ? (signal.reason as StopReason) : isOver ? "cancelled" : null;
    const startError = stopped === null ? error : null;
    return { exit: null, stopped, startError, workspace: null, startedAt, endedAt: this.deps.clock.now() / 1000 };
  }

  private async storedOutcome(rollout: Rollout): Promise<RolloutOutcome | null> {
    const attemptId = rollout.status.last_attempt_id;
    if (attemptId === null) return null;
    const { files } = this.deps;
    try {
      return await loadOutcome(files, attemptFolder(files, this.options.runFolder, rollout.rollout_id, attemptId));
    } catch (thrown) {
      this.report({ kind: "error", where: rollout.rollout_id, error: asLeydenError(thrown) });
      return null;
    }
  }

  private async conclude(last: LastAttempt, failed: Failure | null): Promise<void> {
    if (failed?.code === "shutdown" && this.options.onShutdown === "leave") return;
    const outcome = await this.deps.settler.settle(last, failed);
    try {
      await saveOutcome(this.deps.files, last.folder, outcome);
    } catch (thrown) {
      // The gateway can still be told; only a crash before that would lose the outcome.
      this.report({ kind: "error", where: outcome.rolloutId, error: asLeydenError(thrown) });
    }
    await this.finish(outcome);
  }

  private async finish(outcome: RolloutOutcome): Promise<void> {
    const onError = (error: Error) => this.report({ kind: "error", where: outcome.rolloutId, error });
    const { client, clock } = this.deps;
    const isOver = outcome.failure?.code === "cancelled";
    const delivered: Delivered = isOver ? "gone" : await deliver(client, clock, outcome, this.closing, onError);
    this.report({ kind: "finished", outcome, delivered });
  }
}
