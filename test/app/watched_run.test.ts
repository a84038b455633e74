// What a command's run offers to whoever watches it: an address with its key, the studio, and steering.
import { expect, it } from "vitest";
import { studioAddress, watchedRun } from "../../src/app/watched_run.ts";
import { CancelledError } from "../../src/core/errors.ts";
import { parseConfig } from "../../src/experiment/config.ts";
import { memoryFiles } from "../../src/platform/memory_files.ts";
import type { Engine } from "../../src/schema/engine.ts";
import type { HostPlatform } from "../../src/schema/platform.ts";
import { MemoryStore } from "../../src/store/memory_store.ts";

const config = parseConfig({ model: { path: "m" }, task: { dataset: "d" }, rollout: { command: ["agent"] } });

function watched() {
  const said: string[] = [];
  const slept: number[] = [];
  const platform = {
    files: memoryFiles(),
    runtime: "node",
    entropy: { bytes: (n: number) => new Uint8Array(n).fill(10) },
    clock: { sleep: async (ms: number) => void slept.push(ms) },
  };
  let stops = 0;
  const run = watchedRun(platform as unknown as HostPlatform, {
    ...{ config, configFolder: "/calc", runFolder: "/runs/mine" },
    say: (line) => said.push(line),
    stop: () => void stops++,
  });
  return { run, said, slept, stops: () => stops };
}

it("says where the studio is once the gateway answers, the key where no server sees it", async () => {
  const { run, said } = watched();
  run.served("http://127.0.0.1:80");
  expect(said).toEqual([`Studio: http://127.0.0.1:80/studio/#key=${"0a".repeat(24)}`]);
  const parts = run.gatewayParts(new MemoryStore(), {} as Engine, (id) => Uint8Array.of(id));
  expect(parts.studio).toMatchObject({ name: "mine", config });
  expect(parts.studio?.tokenBytes?.(65)).toEqual(Uint8Array.of(65));
  expect(parts.control?.status()).toMatchObject({ phase: "opening", experiment: "/calc", runtime: "node" });
  expect(await parts.control?.choices()).toEqual([]);
  expect(parts.page).toBeDefined();
  expect(studioAddress("http://127.0.0.1:80", "")).toBe("http://127.0.0.1:80/studio/");
});

it("stops the program when the run is stopped in a page", async () => {
  const { run, stops } = watched();
  run.steering.opened("", 0, 0);
  const stopped = run.steering.stop();
  expect(stops()).toBe(1);
  run.steering.finished(new CancelledError("The run"));
  await stopped;
  expect(run.steering.status()).toMatchObject({ phase: "stopped", error: null });
});

it("stays a moment after its end for a page that follows it, and not otherwise", async () => {
  const { run, slept } = watched();
  await run.farewell();
  expect(slept).toEqual([]);
  run.steering.onChange(() => {})();
  await run.farewell();
  expect(slept).toEqual([1500]);
});
