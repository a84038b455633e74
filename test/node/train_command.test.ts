/** `leyden train` as a person meets it: where its paths start, what a failed start and Ctrl-C leave, what it says. */
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, it } from "vitest";

const at = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url));
const folders: string[] = [];

afterAll(async () => {
  for (const folder of folders) await rm(folder, { recursive: true, force: true });
});

/** An experiment far from the clone: every path in it is absolute. */
async function experiment(): Promise<{ folder: string; run: string }> {
  const folder = await mkdtemp(join(tmpdir(), "leyden-train-"));
  folders.push(folder);
  const calc = JSON.parse(await readFile(at("examples/calc/config.json"), "utf8"));
  calc.model.path = at("examples/calc/model");
  calc.task.dataset = at("examples/calc/tasks.ts");
  calc.rollout = { ...calc.rollout, cwd: at("examples/calc"), prepare: "" };
  calc.train = { ...calc.train, tasksPerUpdate: 2, groupSize: 4 };
  await writeFile(join(folder, "config.json"), JSON.stringify(calc));
  return { folder, run: join(folder, "run") };
}

/** Runs the command; with `stopAt`, sends SIGINT once that file is there. */
function train(args: readonly string[], stopAt = ""): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const child = spawn(process.execPath, [at("src/cli/main.ts"), "train", ...args]);
  let [stdout, stderr] = ["", ""];
  child.stdout.on("data", (chunk: Buffer) => {
    stdout += chunk.toString();
  });
  child.stderr.on("data", (chunk: Buffer) => {
    stderr += chunk.toString();
  });
  const watch = setInterval(() => {
    if (stopAt === "" || !existsSync(stopAt)) return;
    clearInterval(watch);
    child.kill("SIGINT");
  }, 20);
  return new Promise((resolve) => {
    child.on("close", (code) => {
      clearInterval(watch);
      resolve({ code, stdout, stderr });
    });
  });
}

describe("leyden train", () => {
  it("leaves the run's folder free when it cannot start", async () => {
    const { folder, run } = await experiment();
    const failed = await train([folder, "--out", run, "--set", 'model.path="nowhere"']);
    expect(failed.code).not.toBe(0);
    expect(failed.stderr).toContain(`There is no ${join(folder, "nowhere", "config.json")}.`);
    const started = await train([folder, "--out", run, "--updates", "1"]);
    expect(started.stderr).not.toContain("error");
    expect(started.stdout).toMatch(/\nTrained to update 1 in \d+ s on .+\nModel: .+step_1\n$/);
    expect(started.code).toBe(0);
  }, 120_000);

  it("says what is saved when it is stopped, and goes on", async () => {
    const { folder, run } = await experiment();
    const stopped = await train([folder, "--out", run, "--updates", "200"], join(run, "metrics.jsonl"));
    expect(stopped.stderr).toMatch(/Update \d+ is saved in .+; pass --resume to go on\.\nStopped\.\n$/);
    expect(stopped.code).toBe(2);
    const done = Number(/Update (\d+) is saved/.exec(stopped.stderr)?.[1]);
    const resumed = await train([folder, "--out", run, "--updates", `${done + 1}`, "--resume"]);
    expect(resumed.stderr).toContain(`Resuming after update ${done}: `);
    expect(resumed.code).toBe(0);
  }, 120_000);
});
