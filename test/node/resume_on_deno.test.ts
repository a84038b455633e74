/** A run begun on Node goes on with Deno's own WebGPU: the next update is the one that Node would have made. */
import { execFile } from "node:child_process";
import { cp, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, expect, it } from "vitest";
import { ModelFolder } from "../../src/io/model_folder.ts";
import { platform } from "../../src/platform/node.ts";

const main = new URL("../../src/cli/main.ts", import.meta.url).pathname;
const calc = new URL("../../examples/calc", import.meta.url).pathname;
const deno = new URL("../../node_modules/.bin/deno", import.meta.url).pathname;
const folders: string[] = [];

afterAll(async () => {
  for (const folder of folders) await rm(folder, { recursive: true, force: true });
});

const run = promisify(execFile);

/** Trains the calc example up to a number of updates, from the start or from where its folder stands. */
async function train(command: readonly [string, ...string[]], out: string, updates: number, resume = false) {
  const sizes = ["--set", "train.tasksPerUpdate=2", "--set", "train.groupSize=4", "--set", "schedule.activeGroups=2"];
  const args = ["train", calc, "--out", out, "--updates", String(updates), "--json", "--seed", "5", ...sizes];
  const [program, ...before] = command;
  await run(program, [...before, main, ...args, ...(resume ? ["--resume"] : [])], { maxBuffer: 2 ** 24 });
}

async function secondUpdate(out: string): Promise<Record<string, number>> {
  const lines = (await readFile(join(out, "metrics.jsonl"), "utf8")).trim().split("\n");
  expect(lines).toHaveLength(2);
  return JSON.parse(lines[1] as string) as Record<string, number>;
}

async function weights(out: string): Promise<Map<string, Float32Array>> {
  const folder = await ModelFolder.open(platform.files, join(out, "checkpoints", "step_2"));
  const read = folder.names.map(async (name) => [name, await folder.read(name)] as const);
  return new Map(await Promise.all(read));
}

it("takes the same next step on Deno as on Node", async () => {
  const folder = await mkdtemp(join(tmpdir(), "leyden-runtimes-"));
  folders.push(folder);
  const [begun, onNode, onDeno] = ["begun", "node", "deno"].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  await train([process.execPath], begun, 1);
  for (const copy of [onNode, onDeno]) await cp(begun, copy, { recursive: true });
  await train([process.execPath], onNode, 2, true);
  await train([deno, "run", "-A"], onDeno, 2, true);
  const [expected, got] = [await secondUpdate(onNode), await secondUpdate(onDeno)];
  for (const name of ["training/reward", "actor/loss", "actor/grad_norm", "actor/entropy"]) {
    expect(expected[name], name).toBeTypeOf("number");
    expect(Math.abs((got[name] as number) - (expected[name] as number)), name).toBeLessThan(1e-5);
  }
  const [a, b] = [await weights(onNode), await weights(onDeno)];
  expect([...a.keys()]).toEqual([...b.keys()]);
  for (const [name, values] of a) {
    const others = b.get(name) as Float32Array;
    const difference = values.reduce((sum, x, i) => sum + Math.abs(x - (others[i] as number)), 0) / values.length;
    expect(difference, name).toBeLessThan(1e-5);
  }
}, 300_000);
