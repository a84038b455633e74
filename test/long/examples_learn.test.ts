/**
 * The examples learn: held-out success at temperature 1 rises by at least 30 and 20 points in at most 10 and 20
 * minutes of training on a software adapter, for three seeds each. About half an hour when nothing else runs.
 */
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";

const main = fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url));

interface RunLine {
  before: number;
  after: number;
  /** Milliseconds of training. */
  median: number;
  rows: number;
  rows_per_rollout: number;
  signed_mass: number;
  entropy_first: number;
  entropy_last: number;
  logprob_diff: number;
}

async function runExample(name: string): Promise<RunLine> {
  const args = [main, "bench", "examples", "--only", name, "--json"];
  const { stdout } = await promisify(execFile)(process.execPath, args, { maxBuffer: 2 ** 24 });
  return JSON.parse(stdout.trim().split("\n").at(-1) as string) as RunLine;
}

describe.each([
  { example: "vault", gain: 0.3, minutes: 10 },
  { example: "team", gain: 0.2, minutes: 20 },
])("examples/$example", ({ example, gain, minutes }) => {
  it.each([1, 2, 3])("learns with seed %i", async (seed) => {
    const line = await runExample(`${example}_tree_s${seed}`);
    expect(line.before).toBeLessThanOrEqual(0.6);
    expect(line.after - line.before).toBeGreaterThanOrEqual(gain);
    expect(line.median / 60_000).toBeLessThanOrEqual(minutes);
    expect(Math.abs(line.signed_mass)).toBeLessThan(1e-6);
    expect(line.entropy_last).toBeLessThan(line.entropy_first);
    expect(line.logprob_diff).toBeLessThan(1e-4);
    expect(line.rows_per_rollout).toBeGreaterThan(1);
  });
});
