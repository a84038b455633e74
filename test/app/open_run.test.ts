// Plan: a run that ends well; telemetry that cannot be opened, or closed; training that fails; closing that fails. In
// each, everything that was opened is closed, once, and whoever watches is told before.
import { describe, expect, it } from "vitest";
import { type LoopControls, type OpenParts, openRun } from "../../src/app/open_run.ts";
import type { RunResult } from "../../src/app/run_request.ts";
import { RunSteering } from "../../src/app/run_steering.ts";
import { openParts } from "../../src/app/session/opened_parts.ts";
import { DeviceError, EnvironmentError } from "../../src/core/errors.ts";
import { type MetricsLine, RunFolder } from "../../src/experiment/run_folder.ts";
import { memoryFiles } from "../../src/platform/memory_files.ts";
import type { Engine } from "../../src/schema/engine.ts";
import { MemoryStore } from "../../src/store/memory_store.ts";
import { configOf } from "./lesson_rig.ts";

const result: RunResult = {
  ...{ run: "/run", updates: 1, version: 1, reward: 0.5, validation: null, weights_sha256: "w", seconds: 1 },
  ...{ adapter: "a toy", mode: "interleaved" },
};
const lost = new DeviceError("device_lost", "The device was lost.", { do: "Start the run again." });
const noCollector = new EnvironmentError("otel", "There is no collector.", { do: "Start one." });
const fails = (thrown: unknown) => () => Promise.reject(thrown);

/** A run whose parts do what a test has them do; `events` are what happened, in turn. */
function rig(
  faults: { open?: () => Promise<never>; telemetry?: () => Promise<never>; spans?: () => Promise<never> } = {},
  train: (controls: LoopControls) => Promise<RunResult> = async () => result,
  closing: () => Promise<void> = async () => {},
) {
  const events: string[] = [];
  const files = memoryFiles();
  const steering = new RunSteering({ runtime: "node", experiment: "calc", config: configOf({}) });
  let phase = steering.status().phase;
  steering.onChange(() => {
    const now = steering.status().phase;
    if (now !== phase) events.push(now);
    phase = now;
  });
  const telemetry = {
    update: ({ step }: MetricsLine) => void events.push(`span ${step}`),
    close: async () => {
      events.push("telemetry closed");
      await faults.spans?.();
    },
  };
  const host = {
    platform: { files },
    openTelemetry: faults.telemetry ?? (async () => telemetry),
  };
  const reporter = { update: () => events.push("reported"), rollouts() {}, failures() {}, validation() {} };
  const request = {
    ...{ steering, reporter, signal: new AbortController().signal, say: (line: string) => events.push(line) },
    linger: async () => void events.push("lingers"),
  };
  const open = async (): Promise<OpenParts> => {
    await faults.open?.();
    const close = async (): Promise<void> => {
      events.push("closed");
      await closing();
    };
    return { engine: {} as Engine, store: new MemoryStore(), close };
  };
  const folder = new RunFolder(files, "/run");
  const run = () => openRun(host, request, folder, { open, train: (_, controls) => train(controls) });
  return { run, events, files };
}

describe("a run from its opening to its end", () => {
  it("keeps its result, is told of as finished while it still answers, and is closed", async () => {
    const { run, events, files } = rig({}, async ({ reporter, gate }) => {
      expect(gate).toBeDefined();
      reporter.update({ step: 1 });
      return result;
    });
    expect(await run()).toEqual(result);
    expect(events).toEqual(["reported", "span 1", "finished", "lingers", "telemetry closed", "closed"]);
    expect(JSON.parse(await files.readText("/run/result.json"))).toEqual(result);
  });

  it("leaves nothing open where telemetry cannot be opened", async () => {
    const { run, events } = rig({ telemetry: fails(noCollector) });
    await expect(run()).rejects.toBe(noCollector);
    expect(events).toEqual(["failed", "closed"]);
  });

  it("is none the worse for telemetry that cannot be closed, and says so", async () => {
    const { run, events } = rig({ spans: fails(noCollector) });
    expect(await run()).toEqual(result);
    expect(events).toEqual([
      ...["finished", "lingers", "telemetry closed"],
      ...["telemetry: There is no collector.", "closed"],
    ]);
  });

  it("that fails says why, whatever else fails while it is closed", async () => {
    const stuck = fails(new Error("the port is stuck"));
    const { run, events } = rig({ spans: fails(noCollector) }, fails(lost), stuck);
    await expect(run()).rejects.toBe(lost);
    expect(events.slice(0, 4)).toEqual(["failed", "telemetry closed", "telemetry: There is no collector.", "closed"]);
    expect(events[4]).toContain("the port is stuck");
  });

  it("that cannot be closed is no success", async () => {
    const { run, events } = rig({}, async () => result, fails(lost));
    await expect(run()).rejects.toBe(lost);
    expect(events).toEqual(["finished", "lingers", "telemetry closed", "closed"]);
  });

  it("has nothing to close where it cannot be opened", async () => {
    const { run, events } = rig({ open: fails(lost) });
    await expect(run()).rejects.toBe(lost);
    expect(events).toEqual([]);
  });
});

describe("parts that are opened in turn", () => {
  it("are closed in the reverse order, also behind one that cannot be, and once", async () => {
    const events: string[] = [];
    const parts = await openParts(async (opened) => {
      for (const name of ["store", "engine", "gateway"])
        opened.add(async () => {
          events.push(name);
          if (name === "engine") throw lost;
        });
      return { port: 1 };
    });
    expect(parts.port).toBe(1);
    await expect(parts.close()).rejects.toBe(lost);
    await parts.close();
    expect(events).toEqual(["gateway", "engine", "store"]);
  });

  it("are closed where one cannot be opened, and that is what is told", async () => {
    const events: string[] = [];
    const opening = openParts(async (opened) => {
      opened.add(async () => void events.push("store"));
      opened.add(fails(new Error("the engine is stuck")));
      throw noCollector;
    });
    await expect(opening).rejects.toBe(noCollector);
    expect(events).toEqual(["store"]);
  });
});
