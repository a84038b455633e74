import { describe, expect, it } from "vitest";
import { StartupWatch, startupText } from "../../src/app/startup.ts";
import type { LoopReporter } from "../../src/experiment/loop.ts";
import type { Engine } from "../../src/schema/engine.ts";
import type { Startup } from "../../src/schema/startup.ts";

const engine = { info: async () => ({ openSeconds: { device: 0.5, model: 0.25 } }) } as unknown as Engine;
const silent: LoopReporter = { rollouts() {}, failures() {}, validation() {}, update() {} };

describe("start-up", () => {
  it("is split at the first update and told once, and the reporter still hears everything", async () => {
    let now = 0;
    const told: Startup[] = [];
    const heard: unknown[] = [];
    const watch = new StartupWatch(
      engine,
      () => now,
      500,
      (startup) => told.push(startup),
    );
    const reporter = watch.watch({ ...silent, update: (line) => heard.push(line) });
    expect(await watch.startup).toBe(null);
    now = 12_000;
    reporter.update({ "timing_s/gen": 8, "timing_s/update_actor": 2 });
    now = 30_000;
    reporter.update({ "timing_s/gen": 7 });
    const startup = await watch.startup;
    expect(startup).toEqual({ total: 12, program: 0.5, device: 0.5, model: 0.25, rollouts: 8, update: 2, other: 0.75 });
    expect([told, heard.length]).toEqual([[startup], 2]);
    expect(startupText(startup as Startup)).toBe(
      "First update 12.0 s after the program started: program 0.5, device 0.5, model 0.3, rollouts 8.0, update 2.0, other 0.8.",
    );
  });

  it("counts what an engine does not tell as other", async () => {
    const mute = { info: async () => ({}) } as unknown as Engine;
    const watch = new StartupWatch(
      mute,
      () => 3000,
      1000,
      () => {},
    );
    watch.watch(silent).update({});
    const nothing = { device: 0, model: 0, rollouts: 0, update: 0 };
    expect(await watch.startup).toEqual({ total: 3, program: 1, ...nothing, other: 2 });
  });
});
