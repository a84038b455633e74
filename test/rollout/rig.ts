import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import type { Clock } from "../../src/core/clock.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { nodeFiles } from "../../src/platform/node_files.ts";
import { systemProcesses } from "../../src/platform/node_processes.ts";
import { Controller } from "../../src/rollout/controller.ts";
import type { ControllerOptions, ControllerReport } from "../../src/rollout/controller_options.ts";
import type { BoundGrader } from "../../src/rollout/graders/registry.ts";
import type { RolloutHooks } from "../../src/rollout/hooks.ts";
import type { RolloutOutcome } from "../../src/rollout/outcome.ts";
import { type AttemptRunner, ProcessRunner } from "../../src/rollout/process_runner.ts";
import { Settler, taskOfRollout } from "../../src/rollout/settle.ts";
import { StoreClient } from "../../src/rollout/store_client.ts";
import { defaultRetries, defaultRunLimits, type RunLimits } from "../../src/schema/agent.ts";
import type { Files } from "../../src/schema/files.ts";
import type { ProcessHost } from "../../src/schema/process_host.ts";
import { newRollout } from "../../src/schema/rollout.ts";
import type { RolloutClient } from "../../src/schema/rollout_client.ts";
import type { RewardSource, Rollout, RolloutCreate } from "../../src/schema/wire.ts";
import { MemoryStore } from "../../src/store/memory_store.ts";
import { inThread } from "./in_thread.ts";

/** What a test may change about its controller. */
export interface RigOptions extends Partial<Omit<ControllerOptions, "limits">> {
  limits?: Partial<RunLimits>;
  clock?: Clock;
  files?: Files;
  processes?: ProcessHost;
  runner?: AttemptRunner;
  reward?: RewardSource;
  grader?: BoundGrader;
  hooks?: RolloutHooks;
  waitingCalls?(rolloutId: string, attemptId: string): number;
  wrap?(client: RolloutClient): RolloutClient;
}

/** A rollout that has ended. */
export interface Ran {
  rig: Rig;
  outcome: RolloutOutcome;
  rollout: Rollout;
}

/** A folder that is removed after the test. */
export function tempFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "leyden-test-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** A controller over a memory store with a place for its logs. */
export class Rig {
  readonly store: MemoryStore = new MemoryStore();
  readonly folder: string;
  readonly client: RolloutClient;
  readonly reports: ControllerReport[] = [];
  readonly controller: Controller;
  private readonly clock: Clock;
  private readonly stopper = new AbortController();
  private running: Promise<void> | null = null;

  constructor(options: RigOptions = {}) {
    const {
      limits,
      clock = systemClock,
      files = nodeFiles,
      processes = systemProcesses,
      runner,
      reward,
      grader,
      hooks,
      ...rest
    } = options;
    this.clock = clock;
    this.folder = rest.runFolder ?? (files === nodeFiles ? tempFolder() : "/run");
    const { waitingCalls } = rest;
    const own = new StoreClient({
      store: this.store,
      clock,
      gatewayUrl: "http://127.0.0.1:9/",
      keyOf: (id, attempt) => `key-of-${id}-${attempt}`,
      ...(waitingCalls === undefined ? {} : { waitingCalls }),
    });
    this.client = rest.wrap?.(own) ?? own;
    const settler = new Settler({
      rewardSource: reward ?? "exit",
      grader: grader ?? null,
      hooks: hooks ?? {},
      taskOf: taskOfRollout,
      tools: { files, processes, clock, bounded: inThread },
    });
    this.controller = new Controller(
      {
        agent: { command: ["true"] },
        concurrency: 4,
        startConcurrency: 4,
        startWindowMs: 50,
        retries: defaultRetries,
        retryDelayMs: 5,
        onShutdown: "fail",
        runFolder: this.folder,
        ...rest,
        limits: { ...defaultRunLimits, silenceMs: 0, killGraceMs: 300, ...limits },
      },
      {
        client: this.client,
        runner: runner ?? new ProcessRunner({ processes, files, clock }),
        settler,
        clock,
        files,
        report: (report) => this.reports.push(report),
      },
    );
  }

  /** Starts the controller; it is stopped after the test at the latest. */
  start(): void {
    this.running = this.controller.run(this.stopper.signal);
    onTestFinished(() => this.stop());
  }

  async stop(): Promise<void> {
    this.stopper.abort();
    await this.running;
  }

  async enqueue(id: string, create: Partial<RolloutCreate> = {}): Promise<void> {
    const rollout = newRollout({ input: null, ...create }, id, this.clock.now() / 1000);
    await this.store.append([{ type: "rollout_created", rollout }]);
  }

  /** The outcome of a rollout, once the controller has delivered it. */
  async outcome(id: string): Promise<RolloutOutcome> {
    for (;;) {
      for (const report of this.reports) {
        if (report.kind === "finished" && report.outcome.rolloutId === id) return report.outcome;
      }
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
  }

  async rollout(id: string): Promise<Rollout> {
    const rollout = await this.store.rollout(id);
    if (rollout === null) throw new Error(`no rollout ${id}`);
    return rollout;
  }

  /** Runs one rollout of a shell script from start to end. */
  static async runScript(script: string, options: RigOptions = {}, create: Partial<RolloutCreate> = {}): Promise<Ran> {
    const rig = new Rig({ agent: { command: ["sh", "-c", script] }, ...options });
    rig.start();
    await rig.enqueue("r1", create);
    const outcome = await rig.outcome("r1");
    return { rig, outcome, rollout: await rig.rollout("r1") };
  }
}
