import { asLeydenError } from "../core/errors.ts";
import { isExternallyRun, isTerminal } from "../schema/rollout.ts";
import type { RolloutChange } from "../schema/rollout_client.ts";
import type { Rollout } from "../schema/wire.ts";
import { AttemptDriver } from "./attempt_driver.ts";
import type { ControllerDeps, ControllerOptions, ControllerReport } from "./controller_options.ts";
import { failure } from "./failure.ts";
import { StartGate } from "./start_gate.ts";

/** Counts since the start. */
export interface ControllerStats {
  queued: number;
  running: number;
  starting: number;
  succeeded: number;
  failed: number;
  retries: number;
  /** Outcomes whose rollout was gone or ended otherwise at the gateway. */
  undelivered: number;
}

const errorPauseMs = 1_000;
/** Outcomes that are decided at shutdown get this long to be delivered. */
const shutdownMs = 5_000;

/**
 * Keeps agents running for the rollouts that queue at a gateway. It sleeps until the gateway, a process or a limit
 * wakes it.
 */
export class Controller {
  private readonly options: ControllerOptions;
  private readonly deps: ControllerDeps;
  private readonly gate: StartGate;
  private readonly driver: AttemptDriver;
  /** Waiting rollouts in order of creation; the signal ends the limit on their wait. */
  private readonly queue = new Map<string, { rollout: Rollout; left: AbortController }>();
  private readonly active = new Map<string, AbortController>();
  private readonly tasks = new Set<Promise<void>>();
  private readonly delivery = new AbortController();
  private readonly counts = { succeeded: 0, failed: 0, retries: 0, undelivered: 0 };
  private stopping = false;

  constructor(options: ControllerOptions, deps: ControllerDeps) {
    this.options = options;
    this.deps = deps;
    this.driver = new AttemptDriver(options, deps, this.delivery.signal, (report) => this.note(report));
    const { startConcurrency, startWindowMs } = options;
    const hasCalled = (id: string) => this.driver.isCalling(id);
    this.gate = new StartGate(deps.clock, startConcurrency, startWindowMs, hasCalled, () => this.fill());
  }

  /** Works until the signal fires, then ends every agent and resolves once all is settled. */
  async run(signal: AbortSignal): Promise<void> {
    signal.addEventListener("abort", () => this.stop(), { once: true });
    let cursor: number | null = null;
    while (!signal.aborted) {
      try {
        cursor ??= await this.attach();
        const { cursor: next, changes } = await this.deps.client.watch(cursor, signal);
        cursor = next;
        for (const change of changes) await this.follow(change);
        this.fill();
      } catch (thrown) {
        if (signal.aborted) break;
        this.note({ kind: "error", where: "watching the gateway", error: asLeydenError(thrown) });
        await this.deps.clock.sleep(errorPauseMs, signal).catch(() => undefined);
      }
    }
    await this.shutDown();
  }

  /** A sign of life of an attempt that the gateway saw before it is in the store, such as an admitted call. */
  noteActivity(rolloutId: string): void {
    this.gate.leave(rolloutId);
    this.driver.noteActivity(rolloutId);
  }

  stats(): ControllerStats {
    return {
      ...this.counts,
      queued: this.queue.size,
      running: this.active.size,
      starting: this.gate.size,
    };
  }

  private note(report: ControllerReport): void {
    if (report.kind === "retry") this.counts.retries++;
    if (report.kind === "finished") {
      this.counts[report.outcome.state]++;
      if (report.delivered !== "delivered") this.counts.undelivered++;
    }
    this.deps.report?.(report);
  }

  /** Takes over what the gateway has: queued rollouts, and running ones that an earlier controller left. */
  private async attach(): Promise<number> {
    const cursor = await this.deps.client.cursor();
    for (const rollout of await this.deps.client.list(["queuing", "running"])) this.admit(rollout);
    this.fill();
    return cursor;
  }

  private async follow({ rolloutId, kind }: RolloutChange): Promise<void> {
    if (kind === "activity") return this.noteActivity(rolloutId);
    const known = this.queue.has(rolloutId) || this.active.has(rolloutId);
    if (kind === "created" ? known : !known) return;
    const rollout = await this.deps.client.get(rolloutId);
    if (rollout === null || isTerminal(rollout.status.state)) this.cancel(rolloutId);
    else if (kind === "created") this.admit(rollout);
  }

  private admit(rollout: Rollout): void {
    const id = rollout.rollout_id;
    if (this.stopping || this.queue.has(id) || this.active.has(id) || isExternallyRun(rollout)) return;
    const left = new AbortController();
    this.queue.set(id, { rollout, left });
    const { queueMs } = this.options.limits;
    if (queueMs <= 0 || rollout.status.state !== "queuing") return;
    this.track(
      this.deps.clock.sleep(queueMs, left.signal).then(
        async () => {
          if (!this.queue.delete(id)) return;
          const seconds = Math.round(queueMs / 1000);
          await this.driver.refuse(
            rollout,
            failure("queue_timeout", `The rollout timed out in the queue: not started within ${seconds} s.`),
          );
        },
        () => undefined,
      ),
    );
  }

  private cancel(rolloutId: string): void {
    this.queue.get(rolloutId)?.left.abort();
    this.queue.delete(rolloutId);
    this.active.get(rolloutId)?.abort("cancelled");
  }

  /** Starts waiting rollouts while there is room. */
  private fill(): void {
    if (this.stopping) return;
    for (const [id, { rollout, left }] of this.queue) {
      if (this.active.size >= this.options.concurrency || !this.gate.enter(id)) return;
      this.queue.delete(id);
      left.abort();
      const abort = new AbortController();
      this.active.set(id, abort);
      this.track(
        this.driver.drive(rollout, abort.signal).finally(() => {
          this.active.delete(id);
          this.gate.leave(id);
          this.fill();
        }),
      );
    }
  }

  private track(task: Promise<void>): void {
    const tracked = task
      .catch((thrown: unknown) => this.note({ kind: "error", where: "a rollout", error: asLeydenError(thrown) }))
      .finally(() => this.tasks.delete(tracked));
    this.tasks.add(tracked);
  }

  /** From here on nothing is admitted or started, and every agent is asked to end. */
  private stop(): void {
    this.stopping = true;
    for (const abort of this.active.values()) abort.abort("shutdown");
  }

  private async shutDown(): Promise<void> {
    this.stop();
    const waiting = [...this.queue.values()];
    for (const { left } of waiting) left.abort();
    this.queue.clear();
    const deadline = new AbortController();
    const late = this.deps.clock.sleep(this.options.limits.killGraceMs + shutdownMs, deadline.signal);
    void late.then(() => this.delivery.abort()).catch(() => undefined);
    if (this.options.onShutdown === "fail") {
      const reason = failure("shutdown", "The controller shut down before the rollout was started.");
      for (const { rollout } of waiting) this.track(this.driver.refuse(rollout, reason));
    }
    while (this.tasks.size > 0) await Promise.all(this.tasks);
    deadline.abort();
  }
}
