/** A run that is killed at a random moment and resumed: the same weights in sync, no group lost or doubled otherwise. */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { openStoreForReading } from "../../src/app/open_store.ts";
import { platform } from "../../src/platform/node.ts";

const main = new URL("../../src/cli/main.ts", import.meta.url).pathname;
const calc = new URL("../../examples/calc", import.meta.url).pathname;
const folders: string[] = [];

afterAll(async () => {
  for (const folder of folders) await rm(folder, { recursive: true, force: true });
});

async function runFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "leyden-resume-"));
  folders.push(folder);
  return join(folder, "run");
}

interface Ended {
  code: number | null;
  signal: string | null;
  last: Record<string, unknown>;
}

/** Starts a small training run of the calc example in a process group of its own. */
function train(
  out: string,
  mode: string,
  more: readonly string[] = [],
): { process: ChildProcess; ended: Promise<Ended> } {
  const args = [main, "train", calc, "--out", out, "--mode", mode, "--updates", "3", "--json", "--seed", "5"];
  const sizes = ["--set", "train.tasksPerUpdate=2", "--set", "train.groupSize=4", "--set", "schedule.activeGroups=4"];
  const child = spawn(process.execPath, [...args, ...sizes, ...more], { detached: true });
  let output = "";
  child.stdout.on("data", (chunk: Buffer) => {
    output += chunk.toString();
  });
  child.stderr.resume();
  const ended = new Promise<Ended>((resolve) => {
    child.on("close", (code, signal) => {
      const line = output.trim().split("\n").at(-1) ?? "";
      resolve({ code, signal, last: line.startsWith("{") ? JSON.parse(line) : {} });
    });
  });
  return { process: child, ended };
}

async function metricsLines(out: string): Promise<number> {
  const text = await readFile(join(out, "metrics.jsonl"), "utf8").catch(() => "");
  return text.split("\n").length - 1;
}

/** Kills the run, agents and all, `delayMs` after its metrics reached `lines` lines. */
async function killAfter(out: string, mode: string, lines: number, delayMs: number): Promise<Ended> {
  const { process: child, ended } = train(out, mode);
  while ((await metricsLines(out)) < lines && child.exitCode === null) await new Promise((r) => setTimeout(r, 20));
  await new Promise((r) => setTimeout(r, delayMs));
  if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, "SIGKILL");
  return ended;
}

interface UpdateRecord {
  update: number;
  groups: string[];
}

/** Updates of the run as its log tells them, those that a crash undid left out. */
async function lastingUpdates(out: string): Promise<UpdateRecord[]> {
  const store = await openStoreForReading(platform, join(out, "store.sqlite"));
  let updates: UpdateRecord[] = [];
  for (const entry of await store.log(0, 100_000)) {
    if (entry.name === "update") updates.push(entry.data as UpdateRecord);
    const from = entry.name === "resumed" ? (entry.data as { update: number }).update : Number.POSITIVE_INFINITY;
    updates = updates.filter((u) => u.update <= from);
  }
  await store.close();
  return updates;
}

describe("kill -9 and --resume", () => {
  it("ends with the weights of an undisturbed run in sync mode", async () => {
    const whole = await runFolder();
    const undisturbed = await train(whole, "sync").ended;
    expect(undisturbed.code).toBe(0);
    const cut = await runFolder();
    await killAfter(cut, "sync", 1, Math.floor(Math.random() * 2500));
    const resumed = await train(cut, "sync", ["--resume"]).ended;
    expect(resumed.code).toBe(0);
    expect(resumed.last.weights_sha256).toBe(undisturbed.last.weights_sha256);
    expect(await metricsLines(cut)).toBe(3);
  }, 300_000);

  it("neither loses a group nor trains it twice in collocated mode", async () => {
    const out = await runFolder();
    await killAfter(out, "collocated", 1, Math.floor(Math.random() * 2500));
    const resumed = await train(out, "collocated", ["--resume"]).ended;
    expect(resumed.code).toBe(0);
    const updates = await lastingUpdates(out);
    expect(updates.map((u) => u.update)).toEqual([1, 2, 3]);
    const groups = updates.flatMap((u) => u.groups);
    expect(groups).toHaveLength(6);
    expect(new Set(groups)).toEqual(new Set(Array.from({ length: 6 }, (_, i) => `g${String(i).padStart(6, "0")}`)));
  }, 300_000);
});
