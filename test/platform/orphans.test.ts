// A program that ends takes the processes it started with it, even when it is killed outright; and nothing that an agent
// leaves behind outlives it, in whatever session it hides.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { systemProcesses } from "../../src/platform/node_processes.ts";
import { markedProcesses, markVariable } from "../../src/platform/process_marks.ts";
import type { ProcessHandle } from "../../src/schema/process_host.ts";

const platformUrl = new URL("../../src/platform/node.ts", import.meta.url).href;

const program = `
  import { platform } from ${JSON.stringify(platformUrl)};
  const child = await platform.processes.spawn("sh", ["-c", "sleep 600"]);
  platform.terminal.onStop(() => platform.terminal.exit(143));
  platform.terminal.out(String(child.pid));
  await child.exit;
`;

function lives(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

describe("processes of a program that is stopped", () => {
  it.skipIf(process.platform === "win32")("end with it", async () => {
    const parent = spawn(process.execPath, ["--input-type=module", "--eval", program], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const [text] = await once(parent.stdout, "data");
    const pid = Number(String(text));
    expect(lives(pid)).toBe(true);
    parent.kill("SIGTERM");
    const [code] = await once(parent, "exit");
    expect(code).toBe(143);
    await expect.poll(() => lives(pid), { timeout: 5000 }).toBe(false);
  });

  it.skipIf(process.platform === "win32")("end with it when it is killed outright", async () => {
    const parent = spawn(process.execPath, ["--input-type=module", "--eval", program], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const [text] = await once(parent.stdout, "data");
    const pid = Number(String(text));
    expect(lives(pid)).toBe(true);
    parent.kill("SIGKILL");
    await once(parent, "exit");
    await expect.poll(() => lives(pid), { timeout: 5000 }).toBe(false);
  });
});

/** An agent that leaves a child in a session of its own, outside its process group, and says its id. */
const deserter = "setsid sleep 600 & echo $! ; sleep $0";

describe.runIf(process.platform === "linux")("a descendant in a session of its own", () => {
  const folder = mkdtempSync(join(tmpdir(), "leyden-orphans-"));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  async function desert(agentSeconds: string): Promise<{ handle: ProcessHandle; pid: number }> {
    const stdoutFile = join(folder, `out-${agentSeconds}`);
    const handle = await systemProcesses.spawn("sh", ["-c", deserter, agentSeconds], { stdoutFile });
    await expect.poll(() => (existsSync(stdoutFile) ? readFileSync(stdoutFile, "utf8") : "")).toMatch(/\d+\n/);
    return { handle, pid: Number(readFileSync(stdoutFile, "utf8")) };
  }

  it("ends with a killed agent", async () => {
    const { handle, pid } = await desert("599");
    expect(lives(pid)).toBe(true);
    handle.kill("SIGKILL");
    await expect.poll(() => lives(pid), { timeout: 5000 }).toBe(false);
    expect((await handle.exit).signal).toBe("SIGKILL");
  });

  it("ends when an agent that has ended by itself is cleaned up after", async () => {
    const { handle, pid } = await desert("0.01");
    expect((await handle.exit).code).toBe(0);
    expect(lives(pid)).toBe(true);
    handle.kill("SIGKILL");
    await expect.poll(() => lives(pid), { timeout: 5000 }).toBe(false);
  });

  it("ends with a program that is killed outright", async () => {
    const deserting = program.replace('["-c", "sleep 600"]', `["-c", ${JSON.stringify(deserter)}, "598"]`);
    const stdoutFile = join(folder, "out-killed");
    const writes = deserting.replace("]);", `], { stdoutFile: ${JSON.stringify(stdoutFile)} });`);
    const parent = spawn(process.execPath, ["--input-type=module", "--eval", writes], { stdio: "ignore" });
    await expect
      .poll(() => (existsSync(stdoutFile) ? readFileSync(stdoutFile, "utf8") : ""), { timeout: 10_000 })
      .toMatch(/\d+\n/);
    const pid = Number(readFileSync(stdoutFile, "utf8"));
    expect(lives(pid)).toBe(true);
    parent.kill("SIGKILL");
    await expect.poll(() => lives(pid), { timeout: 5000 }).toBe(false);
  });
});

describe("markedProcesses", () => {
  it("finds the marks that are asked for, in the environments it may read", () => {
    const proc = mkdtempSync(join(tmpdir(), "leyden-proc-"));
    const environ = (pid: string, text: string): void => {
      mkdirSync(join(proc, pid));
      writeFileSync(join(proc, pid, "environ"), text);
    };
    environ("11", `A=1\0${markVariable}=x-1\0B=2\0`);
    environ("12", `${markVariable}=x-2\0`);
    environ("13", `NOT_${markVariable}=x-1\0`);
    environ("14", `${markVariable}=x-1`);
    mkdirSync(join(proc, "15"));
    mkdirSync(join(proc, "self"));
    expect(markedProcesses(new Set(["x-1"]), proc).sort()).toEqual([11, 14]);
    expect(markedProcesses(new Set(["x-1", "x-2"]), proc).sort()).toEqual([11, 12, 14]);
    expect(markedProcesses(new Set([""]), join(proc, "none"))).toEqual([]);
    rmSync(proc, { recursive: true });
  });
});
