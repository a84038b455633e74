// The ProcessHost contract on Node and Deno, with real processes (POSIX shells).
import { platform } from "#platform";
import { afterAll, beforeAll, describe, expect, it } from "#test";
import type { SpawnOptions } from "../../src/schema/process_host.ts";

const { clock, files, processes } = platform;
let folder = "";
const log = (name: string) => files.join(folder, name);

beforeAll(async () => {
  folder = await files.makeTempFolder("leyden_processes_");
});

afterAll(async () => {
  await files.remove(folder);
});

function shell(script: string, options?: SpawnOptions) {
  return processes.spawn("sh", ["-c", script], options);
}

/** True while a process of this id exists. */
async function lives(pid: number): Promise<boolean> {
  return (await (await shell(`kill -0 ${pid} 2>/dev/null`)).exit).code === 0;
}

async function waitUntil(condition: () => Promise<boolean>): Promise<void> {
  const end = clock.monotonic() + 10_000;
  while (!(await condition())) {
    if (clock.monotonic() > end) throw new Error("the condition did not come true within 10 s");
    await clock.sleep(20);
  }
}

describe("processes", () => {
  it("end with their code, and their output in files", async () => {
    const options = { stdoutFile: log("out"), stderrFile: log("err") };
    const exit = await (await shell("echo out; echo err >&2; exit 3", options)).exit;
    expect(exit).toEqual({ code: 3, signal: null, outputBytes: 8, overflowed: false, outputError: null });
    expect(await files.readText(log("out"))).toBe("out\n");
    expect(await files.readText(log("err"))).toBe("err\n");
  });

  it("append to a log that is there, and lose nothing of a large output", async () => {
    await files.write(log("large"), "before\n");
    const script =
      "i=0; while [ $i -lt 20000 ]; do echo 0123456789012345678901234567890123456789012345678; i=$((i+1)); done";
    const exit = await (await shell(script, { stdoutFile: log("large") })).exit;
    expect(exit.outputBytes).toBe(1_000_000);
    expect(await files.size(log("large"))).toBe(1_000_007);
  });

  it("get their folder, variables and input", async () => {
    const options = { cwd: folder, env: { LEYDEN_GIVEN: "yes" }, stdin: "typed", stdoutFile: log("env") };
    await (await shell('pwd -P; echo "$LEYDEN_GIVEN $HOME"; cat', options)).exit;
    const [cwd, variables, typed] = (await files.readText(log("env"))).split("\n");
    expect(cwd).toMatch(/leyden_processes_/);
    expect(variables).toMatch(/^yes \/./);
    expect(typed).toBe("typed");
  });

  it("inherit only what they may", async () => {
    const script = '/usr/bin/env | cut -d= -f1 | grep -v "^\\(PWD\\|SHLVL\\|_\\|OLDPWD\\)$" | sort | tr "\\n" " "';
    const names = async (inheritEnv: SpawnOptions["inheritEnv"], file: string) => {
      await (await processes.spawn("/bin/sh", ["-c", script], { inheritEnv, env: { A: "1" }, stdoutFile: log(file) }))
        .exit;
      return (await files.readText(log(file))).trim();
    };
    expect(await names(["PATH", "NO_SUCH_VARIABLE"], "some")).toBe("A LEYDEN_PROCESS_MARK PATH");
    expect(await names("none", "none")).toMatch(/^A LEYDEN_PROCESS_MARK( PATH)?$/);
  });

  it("read the end of an empty input", async () => {
    expect((await (await shell("read line; exit 5")).exit).code).toBe(5);
  });

  it("are killed with their descendants", async () => {
    const child = await shell("sleep 600 & echo $!; wait", { stdoutFile: log("tree") });
    await waitUntil(async () => (await files.exists(log("tree"))) && (await files.size(log("tree"))) > 1);
    const grandchild = Number(await files.readText(log("tree")));
    expect(await lives(grandchild)).toBe(true);
    child.kill("SIGTERM");
    expect(await child.exit).toMatchObject({ code: null, signal: "SIGTERM" });
    await waitUntil(async () => !(await lives(grandchild)));
  });

  it("that ignore SIGTERM end by SIGKILL", async () => {
    const child = await shell("trap '' TERM; echo ready; while :; do sleep 0.05; done", {
      stdoutFile: log("stubborn"),
    });
    await waitUntil(async () => (await files.size(log("stubborn"))) > 0);
    child.kill("SIGTERM");
    await clock.sleep(150);
    expect(await lives(child.pid)).toBe(true);
    child.kill("SIGKILL");
    expect(await child.exit).toMatchObject({ code: null, signal: "SIGKILL" });
  });

  it("end although a child they left holds their output, and that child can be killed", async () => {
    const started = clock.monotonic();
    const child = await shell("sleep 600 & echo $!", { stdoutFile: log("orphan") });
    expect((await child.exit).code).toBe(0);
    expect(clock.monotonic() - started).toBeLessThan(10_000);
    const orphan = Number(await files.readText(log("orphan")));
    expect(await lives(orphan)).toBe(true);
    child.kill("SIGKILL");
    await waitUntil(async () => !(await lives(orphan)));
    child.kill("SIGKILL");
  });

  it("that flood their output are killed at the limit", async () => {
    const child = await shell("yes", { stdoutFile: log("flood"), outputLimitBytes: 100_000 });
    expect(await child.exit).toMatchObject({ signal: "SIGKILL", outputBytes: 100_000, overflowed: true });
    expect(await files.size(log("flood"))).toBe(100_000);
  });

  it("that cannot be started say why", async () => {
    await expect(processes.spawn("leyden-no-such-program", [])).rejects.toMatchObject({
      code: "spawn_failed",
      exitCode: 3,
    });
    await expect(processes.spawn("leyden-no-such-program", [])).rejects.toThrow("there is no such program");
    await expect(shell("true", { cwd: log("no folder") })).rejects.toThrow("its working folder");
    await expect(processes.spawn(folder, [])).rejects.toThrow("it may not be run");
    await expect(shell("true", { stdoutFile: log("no folder/x") })).rejects.toMatchObject({ code: "file_failed" });
  });
});
