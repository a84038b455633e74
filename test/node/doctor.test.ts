// doctor with the real adapter: a driver that works is found in time, and one that crashes is a finding, not a crash.
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

const root = fileURLToPath(new URL("../..", import.meta.url));

function doctor(args: string[], env: Record<string, string> = {}) {
  const started = performance.now();
  const { status, stdout, stderr } = spawnSync(process.execPath, ["src/cli/main.ts", "doctor", ...args], {
    cwd: root,
    encoding: "utf8",
    env: { ...process.env, ...env },
  });
  return { status, stdout, stderr, ms: performance.now() - started };
}

describe("doctor with the real adapter", () => {
  it("prints one line, in less than 2 s", () => {
    doctor([]);
    const { status, stdout, stderr, ms } = doctor(["--fix"]);
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    expect(stdout).toMatch(/^ok: .+ \((software|gpu)\), Node \d+\.\d+\.\d+, Deno .+\n$/);
    expect(ms).toBeLessThan(2000);
  });

  it("reports adapter, features and limits as JSON", () => {
    const { status, stdout } = doctor(["--json"]);
    const report = JSON.parse(stdout);
    expect(status).toBe(0);
    expect(Object.keys(report)).toEqual(["ok", "adapter", "class", "features", "limits", "node", "deno", "fix"]);
    expect(report).toMatchObject({ ok: true, node: process.versions.node, fix: [] });
    expect(["software", "gpu"]).toContain(report.class);
    expect(report.features).toContain("core-features-and-limits");
    expect(report.limits.maxStorageBufferBindingSize).toBeGreaterThanOrEqual(2 ** 27);
  });

  it("reports a machine without a driver", () => {
    // The loader looks for drivers in this file alone, and there is none.
    const { status, stdout } = doctor(["--json"], { VK_DRIVER_FILES: "/nowhere.json", LEYDEN_NO_INSTALL: "1" });
    expect(status).toBe(3);
    expect(JSON.parse(stdout)).toMatchObject({ ok: false, adapter: null, class: null });
  });

  it("survives a driver that crashes", () => {
    const folder = mkdtempSync(join(tmpdir(), "leyden_crash_"));
    const crash = join(folder, "crash.cjs");
    // Ends the probe as a broken driver would, by a signal in the midst of it.
    writeFileSync(crash, 'if (process.argv[1]?.endsWith("adapter_probe.ts")) process.kill(process.pid, "SIGSEGV");\n');
    try {
      const { status, stderr } = doctor([], { NODE_OPTIONS: `--require=${crash}`, LEYDEN_NO_INSTALL: "1" });
      expect(status).toBe(3);
      expect(stderr).toMatch(/^The driver crashed while computing \(SIGSEGV\)\./);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
