import { describe, expect, it } from "vitest";
import { RunSteering } from "../../src/app/run_steering.ts";
import { CancelledError, EnvironmentError } from "../../src/core/errors.ts";
import { parseConfig } from "../../src/experiment/config.ts";
import type { LoopReporter } from "../../src/experiment/loop.ts";

const config = parseConfig({
  model: { path: "m" },
  task: { dataset: "d" },
  rollout: { command: ["c"] },
  train: { updates: 3 },
});
const silent: LoopReporter = { rollouts() {}, failures() {}, validation() {}, update() {} };

function steered(paused = false) {
  const steering = new RunSteering({ runtime: "node", experiment: "calc", config, paused });
  const phases: string[] = [steering.status().phase];
  steering.onChange(() => {
    const { phase } = steering.status();
    if (phases.at(-1) !== phase) phases.push(phase);
  });
  return { steering, phases };
}

describe("RunSteering", () => {
  it("tells where the run stands, from opening to its last update", () => {
    const { steering, phases } = steered();
    expect(steering.status()).toMatchObject({ experiment: "calc", updates: 3, config, error: null, startup: null });
    steering.opened("llvmpipe", 1, 1);
    steering.watch(silent).update({ step: 2, version: 3 });
    expect(steering.status()).toMatchObject({ adapter: "llvmpipe", update: 2, version: 3 });
    steering.finished();
    expect(phases).toEqual(["opening", "running", "finished"]);
  });

  it("pauses, steps and goes on with the loop behind its gate", async () => {
    const { steering, phases } = steered(true);
    steering.opened("", 0, 0);
    const loop = (async () => {
      for (let n = 1; n <= 3; n++) {
        await steering.gate.pass(steering.signal);
        steering.watch(silent).update({ step: n });
      }
      steering.finished();
    })();
    await steering.step();
    expect(steering.status()).toMatchObject({ phase: "paused", update: 1 });
    await steering.resume();
    await loop;
    expect(phases).toEqual(["opening", "paused", "running", "paused", "running", "finished"]);
  });

  it("stops once the host says so, and keeps what failed for the page", async () => {
    const { steering, phases } = steered();
    steering.opened("", 0, 0);
    const stopped = steering.stop();
    expect(steering.signal.aborted).toBe(true);
    steering.finished(new CancelledError("The run"));
    await stopped;
    expect([phases, steering.status().error]).toEqual([["opening", "running", "stopping", "stopped"], null]);

    const { steering: failing } = steered();
    failing.finished(new EnvironmentError("no_adapter", "There is no adapter.", { do: "Get one." }));
    expect(failing.status()).toMatchObject({
      phase: "failed",
      error: { code: "no_adapter", message: "There is no adapter.", do: "Get one." },
    });
  });

  it("tells whether its model is open: not before, after the last update until it is let go, not once it stops", async () => {
    const { steering } = steered();
    const isOpen = (of = steering) => of.status().modelOpen;
    expect(isOpen()).toBe(false);
    steering.opened("", 0, 0);
    expect(isOpen()).toBe(true);
    steering.finished();
    expect(isOpen()).toBe(true);
    steering.released();
    expect([steering.status().phase, isOpen()]).toEqual(["finished", false]);

    const { steering: other } = steered();
    other.opened("", 0, 0);
    const stopped = other.stop();
    expect(isOpen(other)).toBe(false);
    other.finished(new CancelledError("The run"));
    await stopped;
    expect(isOpen(other)).toBe(false);
  });

  it("has stopped, not failed, where the host's own signal has ended it", () => {
    const { steering, phases } = steered();
    steering.opened("", 0, 0);
    steering.finished(new CancelledError("The run"));
    expect([phases.at(-1), steering.status().error]).toEqual(["stopped", null]);
  });

  it("knows whether somebody has ever waited for news", () => {
    const steering = new RunSteering({ runtime: "node", experiment: "calc", config });
    expect(steering.wasWatched).toBe(false);
    steering.onChange(() => {})();
    expect(steering.wasWatched).toBe(true);
  });

  it("refuses by name what does not fit where it stands", async () => {
    const { steering } = steered();
    await expect(steering.pause()).rejects.toMatchObject({
      code: "run_phase",
      message: "The run is opening: it cannot be paused.",
      do: "Pause it while it is running.",
    });
    steering.opened("", 0, 0);
    await expect(steering.step()).rejects.toThrow("The run is running: it cannot take one step.");
    steering.finished();
    await expect(steering.stop()).rejects.toThrow("The run is finished: it cannot be stopped.");
  });
});
