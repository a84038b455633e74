/**
 * Attempts as real processes: exit codes, signals, limits, logs, and what an agent is given. Each test runs one rollout
 * through the controller and the memory store.
 */
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { systemClock } from "../../src/platform/clock.ts";
import { nodeFiles } from "../../src/platform/node_files.ts";
import { systemProcesses } from "../../src/platform/node_processes.ts";
import { agentAccess } from "../../src/rollout/agent_access.ts";
import { ProcessRunner } from "../../src/rollout/process_runner.ts";
import { defaultRunLimits } from "../../src/schema/agent.ts";
import { newRollout } from "../../src/schema/rollout.ts";
import { Rig, tempFolder } from "./rig.ts";

const { runScript } = Rig;

/** False for processes that are gone, and for dead ones that nobody has asked about yet. */
function isAlive(pid: number): boolean {
  const { stdout } = spawnSync("ps", ["-o", "stat=", "-p", String(pid)], { encoding: "utf8" });
  return stdout.trim() !== "" && !stdout.startsWith("Z");
}

async function until(condition: () => boolean): Promise<void> {
  for (let i = 0; i < 1000 && !condition(); i++) await new Promise((resolve) => setTimeout(resolve, 5));
  expect(condition()).toBe(true);
}

function read(rig: Rig, attempt: string, name: string): string {
  return readFileSync(join(rig.folder, "attempts", "r1", attempt, name), "utf8");
}

describe("how an agent ends", () => {
  it("succeeds with code 0: logs, result and state are written", async () => {
    const { rig, outcome, rollout } = await runScript("echo out; echo err >&2");
    expect(outcome).toMatchObject({ state: "succeeded", failure: null, attemptId: "0", earlier: [] });
    expect(rollout.status).toMatchObject({ state: "succeeded", last_attempt_id: "0", error_message: null });
    expect(read(rig, "0", "stdout.log")).toBe("out\n");
    expect(read(rig, "0", "stderr.log")).toBe("err\n");
    expect(JSON.parse(read(rig, "0", "result.json"))).toEqual(JSON.parse(JSON.stringify(outcome)));
  });

  it("fails with another code, without another attempt", async () => {
    const { outcome, rollout } = await runScript("exit 3", { reward: "agent" });
    expect(outcome.failure).toEqual({ code: "agent_exit", class: "agent", message: "The agent exited with code 3." });
    expect(outcome.attemptId).toBe("0");
    expect(rollout.status).toMatchObject({
      state: "failed",
      error_message: "agent_exit: The agent exited with code 3.",
    });
  });

  it("fails as a crash when it ends itself by a signal", async () => {
    const { outcome } = await runScript("kill -SEGV $$", { reward: "agent" });
    expect(outcome.failure).toEqual({
      code: "agent_crash",
      class: "agent",
      message: "The agent was ended by SIGSEGV.",
    });
  });

  it("is tried again when something from outside killed it, each attempt with its own logs", async () => {
    const { rig, outcome } = await runScript("echo $0 >&2; kill -KILL $$");
    expect(outcome).toMatchObject({ state: "failed", attemptId: "2", failure: { code: "agent_killed" } });
    expect(outcome.earlier.map((failure) => failure.code)).toEqual(["agent_killed", "agent_killed"]);
    expect(["0", "1", "2"].map((attempt) => read(rig, attempt, "stderr.log"))).toEqual(["sh\n", "sh\n", "sh\n"]);
    expect(rig.controller.stats()).toMatchObject({ retries: 2, failed: 1, running: 0 });
  });

  it("says which program is missing", async () => {
    const { outcome } = await runScript("", { agent: { command: ["no-such-agent"] }, retries: {} });
    expect(outcome.failure).toMatchObject({
      code: "spawn_failed",
      class: "infrastructure",
      message: 'Could not start "no-such-agent": there is no such program.',
    });
    expect(outcome.exit).toBeNull();
  });
});

describe("limits", () => {
  it("ends an agent that runs too long, and every process of its group", async () => {
    const { rig, outcome } = await runScript("sleep 60 & echo $!; sleep 60", {
      limits: { runMs: 400, killGraceMs: 50 },
    });
    expect(outcome).toMatchObject({ attemptId: "0", failure: { code: "run_timeout", class: "limit" } });
    expect(outcome.failure?.message).toMatch(/^The agent timed out after \d+ s\.$/);
    const child = Number(read(rig, "0", "stdout.log"));
    await until(() => !isAlive(child));
  });

  it("uses a rollout's own time limit when it is shorter", async () => {
    const config = { timeout_seconds: 0.1, local: null, k8s: null };
    const { outcome } = await runScript("sleep 60", {}, { config });
    expect(outcome.failure?.code).toBe("run_timeout");
  });

  it("kills an agent that ignores being asked", async () => {
    const { outcome } = await runScript("trap '' TERM; while :; do sleep 0.01; done", {
      limits: { runMs: 400, killGraceMs: 50 },
    });
    expect(outcome).toMatchObject({ failure: { code: "run_timeout" }, exit: { signal: "SIGKILL" } });
  });

  it("lets an agent clean up when it is asked to end", async () => {
    const { rig } = await runScript("trap 'echo bye; exit 0' TERM; while :; do sleep 0.01; done", {
      limits: { runMs: 400, killGraceMs: 5000 },
    });
    expect(read(rig, "0", "stdout.log")).toBe("bye\n");
  });

  it("ends children that an agent leaves behind", async () => {
    const { rig, outcome } = await runScript("sleep 60 >/dev/null 2>&1 & echo $!");
    expect(outcome.state).toBe("succeeded");
    const child = Number(read(rig, "0", "stdout.log"));
    await until(() => !isAlive(child));
  });

  it("ends an agent that floods its output, and keeps the beginning", async () => {
    const { rig, outcome } = await runScript("yes", { limits: { outputBytes: 10_000 }, reward: "agent" });
    expect(outcome.failure).toEqual({
      code: "output_limit",
      class: "agent",
      message: "The agent wrote more than its limit; 10000 bytes were kept.",
    });
    expect(read(rig, "0", "stdout.log")).toHaveLength(10_000);
  });

  it("ends an agent that makes no call and writes nothing", async () => {
    const { outcome } = await runScript("sleep 60", { limits: { silenceMs: 200 } });
    expect(outcome.failure).toMatchObject({ code: "silence", class: "limit" });
    expect(outcome.failure?.message).toMatch(
      /timed out after \d+ s: it made no call and wrote nothing for too long\.$/,
    );
  });

  it("does not take output, calls or waiting for a reply for silence", async () => {
    const talking = await runScript("for i in 1 2 3 4 5 6 7 8 9 10; do sleep 0.06; echo $i; done", {
      limits: { silenceMs: 450 },
    });
    expect(talking.outcome.state).toBe("succeeded");
    const waiting = await runScript("sleep 0.6", { limits: { silenceMs: 450 }, waitingCalls: () => 1 });
    expect(waiting.outcome.state).toBe("succeeded");
  });
});

describe("what an agent is given", () => {
  it("gets addresses and its rollout's key in the variables its SDK reads", async () => {
    const names = ["OPENAI_BASE_URL", "OPENAI_API_BASE", "OPENAI_API_KEY", "ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY"];
    names.push("GOOGLE_GEMINI_BASE_URL", "GEMINI_API_KEY", "AGL_OPENAI_BASE_URL", "AGL_EVENT_URL", "AGL_KEY");
    const { rig } = await runScript(`for n in ${names.join(" ")}; do eval echo \\$$n; done`, {}, { is_train: false });
    const native = "http://127.0.0.1:9/r/r1/0/val";
    expect(read(rig, "0", "stdout.log").trim().split("\n")).toEqual([
      `${native}/v1`,
      `${native}/v1`,
      "key-of-r1-0",
      native,
      "key-of-r1-0",
      native,
      "key-of-r1-0",
      "http://127.0.0.1:9/proxy/rollout/r1/attempt/0/mode/val/openai/v1",
      "http://127.0.0.1:9/api/rollouts/r1/attempt/0/events",
      "key-of-r1-0",
    ]);
  });

  it("gets the task as argument, variable, standard input and file", async () => {
    const agent = {
      command: [
        "sh",
        "-c",
        'echo "$1"; echo "$Q"; echo "$FROM_ENV"; cat; cat "$2"',
        "agent",
        "{input.q}",
        "{input_file}",
      ],
      envMap: { Q: "input.q" },
      env: { FROM_ENV: "{attempt_id}:{input.q}" },
      stdin: "{input}\n",
    };
    const question = "a $(rm -rf /) 'b' \"c\"";
    const { rig } = await runScript("", { agent }, { input: { q: question } });
    const json = JSON.stringify({ q: question });
    expect(read(rig, "0", "stdout.log")).toBe(`${question}\n${question}\n0:${question}\n${json}\n${json}`);
  });

  it("takes env_map from the rollout too, and lets the later setting win", async () => {
    const local = { agent_class: null, env_map: { A: "input.a", OPENAI_API_KEY: "mine" } };
    const { rig } = await runScript(
      'echo "$A $B $OPENAI_API_KEY"',
      { agent: { command: ["sh", "-c", 'echo "$A $B $OPENAI_API_KEY"'], env: { A: "env", B: "env" } } },
      { input: { a: "map" }, config: { timeout_seconds: 0, local, k8s: null } },
    );
    expect(read(rig, "0", "stdout.log")).toBe("map env mine\n");
  });

  it("fails without another attempt when the task lacks a field", async () => {
    const { outcome, rollout } = await runScript("", { agent: { command: ["true"], envMap: { A: "input.a.b" } } });
    expect(outcome).toMatchObject({ attemptId: "0", failure: { code: "input_invalid", class: "config" } });
    expect(rollout.status.error_message).toBe("input_invalid: local.env_map path not found: input.a.b");
  });

  it("works in a copy of the workspace", async () => {
    const workspace = join(tempFolder(), "template");
    mkdirSync(join(workspace, "sub"), { recursive: true });
    writeFileSync(join(workspace, "sub", "file.txt"), "before");
    const agent = { command: ["sh", "-c", "cat sub/file.txt; echo after > sub/file.txt"], workspace };
    const { rig } = await runScript("", { agent });
    expect(read(rig, "0", "stdout.log")).toBe("before");
    expect(read(rig, "0", "workspace/sub/file.txt")).toBe("after\n");
    expect(readFileSync(join(workspace, "sub", "file.txt"), "utf8")).toBe("before");
  });

  it("keeps a hostile rollout id inside the attempts folder", async () => {
    const rig = new Rig({ agent: { command: ["true"] } });
    rig.start();
    await rig.enqueue("../../escape");
    await rig.outcome("../../escape");
    expect(existsSync(join(rig.folder, "attempts", "..%2F..%2Fescape", "0", "result.json"))).toBe(true);
    await rig.enqueue("..");
    await rig.outcome("..");
    expect(existsSync(join(rig.folder, "attempts", "%2E%2E", "0", "result.json"))).toBe(true);
  });

  it("starts no process for an attempt that was ended before", async () => {
    const refuse = () => Promise.reject(new Error("spawned"));
    const runner = new ProcessRunner({ processes: { spawn: refuse }, files: nodeFiles, clock: systemClock });
    const rollout = newRollout({ input: null }, "r1", 0);
    const access = agentAccess("http://gw", rollout, "0", "key");
    const agent = { command: ["true"] };
    const spec = { rollout, attemptId: "0", folder: tempFolder(), access, agent, limits: defaultRunLimits };
    const signal = AbortSignal.abort("shutdown");
    const end = await runner.run(spec, { signal, onStarted: () => undefined, activity: async () => 0 });
    expect(end).toMatchObject({ exit: null, stopped: "shutdown", startError: null });
  });

  it("starts under a launcher, such as nice", async () => {
    const launcher = ["nice", "-n", "7"];
    const runner = new ProcessRunner({ processes: systemProcesses, files: nodeFiles, clock: systemClock, launcher });
    const { rig } = await runScript("nice", { runner });
    expect(Number(read(rig, "0", "stdout.log"))).toBeGreaterThanOrEqual(7);
  });
});
