/** A run whose reward was written in the page goes on with it on Node and on Deno: the text is kept with the run. */
import { execFile } from "node:child_process";
import { cp, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const main = new URL("../../src/cli/main.ts", import.meta.url).pathname;
const calc = new URL("../../examples/calc", import.meta.url).pathname;
const deno = new URL("../../node_modules/.bin/deno", import.meta.url).pathname;
const sizes = ["--set", "train.tasksPerUpdate=2", "--set", "train.groupSize=4"];
const execute = promisify(execFile);
/** Rewards of the experiment itself are 0 and 1; these lie between 3 and 4. */
const source = "({ message }) => 3 + (message ?? '').length / 1000";

let folder = "";
let begun = "";

/** Trains the calc example in a folder; what it said on stderr. */
async function train(program: readonly [string, ...string[]], out: string, ...more: string[]): Promise<string> {
  const [command, ...before] = program;
  const args = [...before, main, "train", calc, "--out", out, "--seed", "5", ...sizes, ...more];
  return (await execute(command, args, { maxBuffer: 2 ** 24 })).stderr;
}

async function rewards(out: string): Promise<number[]> {
  const lines = (await readFile(join(out, "metrics.jsonl"), "utf8")).trim().split("\n");
  return lines.map((line) => JSON.parse(line)["training/reward"] as number);
}

async function copied(name: string): Promise<string> {
  const out = join(folder, name);
  await cp(begun, out, { recursive: true });
  return out;
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "leyden-edited-"));
  begun = join(folder, "begun");
  const edited = [
    "rollout.reward=grader",
    "rollout.grader=edited",
    `rollout.graderOptions=${JSON.stringify({ source })}`,
  ];
  await train([process.execPath], begun, "--updates", "1", ...edited.flatMap((override) => ["--set", override]));
}, 120_000);

afterAll(() => rm(folder, { recursive: true, force: true }));

describe("a run with a reward from the page", () => {
  it.each([
    ["Node", [process.execPath]],
    ["Deno", [deno, "run", "-A", "--no-check"]],
  ] as const)(
    "goes on with it on %s",
    async (name, program) => {
      const out = await copied(name);
      const said = await train(program, out, "--updates", "2", "--resume");
      expect(said).toContain(
        "The run's reward is the function that was written in the page; --set rollout.grader=NAME",
      );
      expect(said).toContain("The configuration differs from the one the run began with: train.updates 1 -> 2.");
      const [first, second] = await rewards(out);
      expect(first).toBeGreaterThan(3);
      expect(second).toBeGreaterThan(3);
      const kept = JSON.parse(await readFile(join(out, "config.json"), "utf8"));
      expect(kept.rollout).toMatchObject({ grader: "edited", graderOptions: { source } });
    },
    120_000,
  );

  it("takes another where one is named", async () => {
    const out = await copied("named");
    const said = await train([process.execPath], out, "--updates", "2", "--resume", "--set", "rollout.grader=numeric");
    expect(said).toContain('rollout.grader "edited" -> "numeric"');
    expect((await rewards(out))[1]).toBeLessThanOrEqual(1);
  }, 120_000);
});
