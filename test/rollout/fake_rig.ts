import type { RolloutClient } from "../../src/schema/rollout_client.ts";
import { FakeRunner } from "./fake_runner.ts";
import { MemoryFiles } from "./memory_files.ts";
import { Rig, type RigOptions } from "./rig.ts";

/** A controller whose attempts are faked, with its files in memory. */
export function fakeRig(options: RigOptions = {}): {
  rig: Rig;
  runner: FakeRunner;
  files: NonNullable<RigOptions["files"]>;
} {
  const runner = new FakeRunner();
  const files = options.files ?? new MemoryFiles();
  const rig = new Rig({ runner, files, ...options });
  return { rig, runner, files };
}

/** A client with some methods replaced. */
export function wrapped(own: RolloutClient, changes: Partial<RolloutClient>): RolloutClient {
  return new Proxy(own, {
    get(target, name) {
      const value = Reflect.get(changes, name) ?? Reflect.get(target, name);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}
