import type { LoopReporter } from "../experiment/loop.ts";
import type { MetricsLine } from "../experiment/run_folder.ts";
import type { Engine } from "../schema/engine.ts";
import type { Startup } from "../schema/startup.ts";
import { watchUpdates } from "./watch_updates.ts";

/** Watches a run until its first update. `monotonicMs` counts from the process's start. */
export class StartupWatch {
  private readonly engine: Engine;
  private readonly monotonicMs: () => number;
  private readonly programMs: number;
  private readonly done: (startup: Startup) => void;
  private first: Promise<Startup> | null = null;

  /** `done` is told once, at the first update. */
  constructor(engine: Engine, monotonicMs: () => number, programMs: number, done: (startup: Startup) => void) {
    this.engine = engine;
    this.monotonicMs = monotonicMs;
    this.programMs = programMs;
    this.done = done;
  }

  /** What there was to say; null before the first update. */
  get startup(): Promise<Startup | null> {
    return this.first ?? Promise.resolve(null);
  }

  /** The reporter, watched. */
  watch(reporter: LoopReporter): LoopReporter {
    return watchUpdates(reporter, (line) => {
      this.first ??= this.measure(line, this.monotonicMs() / 1000);
    });
  }

  private async measure(line: MetricsLine, total: number): Promise<Startup> {
    const { openSeconds = { device: 0, model: 0 } } = await this.engine.info();
    const seconds = (name: string): number => Number(line[`timing_s/${name}`] ?? 0);
    const parts = {
      program: this.programMs / 1000,
      ...openSeconds,
      rollouts: seconds("gen"),
      update: seconds("update_actor"),
    };
    const known = Object.values(parts).reduce((a, b) => a + b, 0);
    const startup = { total, ...parts, other: Math.max(0, total - known) };
    this.done(startup);
    return startup;
  }
}

/** One line of it for people. */
export function startupText({ total, ...parts }: Startup): string {
  const each = Object.entries(parts).map(([name, seconds]) => `${name} ${seconds.toFixed(1)}`);
  return `First update ${total.toFixed(1)} s after the program started: ${each.join(", ")}.`;
}
