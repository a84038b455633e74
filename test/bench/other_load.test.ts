import { describe, expect, it } from "vitest";
import { busyMs, OtherLoad, processMs } from "../../src/bench/other_load.ts";
import { fakePlatform } from "../cli/fake_platform.ts";

const cpu = (...fields: number[]) => `cpu  ${fields.join(" ")}\ncpu0 1 1 1 1 1 1 1 1 0 0\nintr 5\n`;
const own = (user: number, system: number) => `7 (a b) c) S 1 7 7 0 -1 4194560 9 0 0 0 ${user} ${system} 0 0 20 0 1\n`;

describe("the load of others", () => {
  it("counts all busy time, neither idle, waiting for disks, nor guests twice", () => {
    expect(busyMs(cpu(100, 10, 20, 9999, 888, 3, 4, 5, 77, 6))).toBe(1420);
    expect(busyMs("nothing\n")).toBe(0);
  });

  it("finds a process's time behind any name", () => {
    expect(processMs(own(30, 12))).toBe(420);
  });

  it("is what is busy less what the measuring processes use, per time passed", async () => {
    const { platform, files } = fakePlatform({
      files: { "/proc/stat": cpu(100, 0, 0, 0), "/proc/self/stat": own(10, 0), "/proc/7/stat": own(20, 0) },
    });
    let at = 0;
    const load = new OtherLoad(platform.files, { ...platform.clock, monotonic: () => at }, ["self", 7]);
    await load.begin();
    at = 2000;
    // 4 s busy: 2 s and 1 s ours, 1 s of others in 2 s.
    files.set("/proc/stat", cpu(400, 0, 100, 0));
    files.set("/proc/self/stat", own(110, 100));
    files.set("/proc/7/stat", own(120, 0));
    expect(await load.end()).toBeCloseTo(0.5, 6);
  });

  it("is not known without /proc", async () => {
    const { platform } = fakePlatform({});
    const load = new OtherLoad(platform.files, { ...platform.clock, monotonic: () => 0 }, ["self"]);
    await load.begin();
    expect(await load.end()).toBeNull();
  });
});
