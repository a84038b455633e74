/** `leyden demo` at its smallest: what it says while it works and at its end, to people and to programs. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { demoLines } from "../../src/cli/demo.ts";
import { runLeyden } from "../cli/run_leyden.ts";

const folder = mkdtempSync(join(tmpdir(), "leyden-demo-test-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const smallest = ["train.updates=1", "train.tasksPerUpdate=1", "train.groupSize=2", "eval.tasks=1"];
const sizes = smallest.flatMap((override) => ["--set", override]);

describe("leyden demo", () => {
  it("says what each phase found, and how long the training took apart from the measurements", async () => {
    const { code, out, err } = await runLeyden(["demo", "--out", join(folder, "run"), ...sizes]);
    expect({ code, err }).toMatchObject({ code: 0 });
    expect(err.split("\n").filter((line) => !/^(Studio:|Update 1 )/.test(line))).toEqual([
      "Before: the base model on the held-out tasks, each 8 times",
      expect.stringMatching(/^ {2}\d+\.\d % of 1 task solved \(95 %: .* % to .* %\)$/),
      "Training: the same agent, its model updated after every batch of rollouts",
      "After: the trained model on the same tasks, each 2 times",
      expect.stringMatching(/^ {2}\d+\.\d % of 1 task solved/),
      "",
    ]);
    const last = out.split("\n").find((line) => line.includes("with both measurements"));
    const [training, all] = (last?.match(/\d+(?= s\b)/g) ?? []).map(Number);
    expect(last).toMatch(/^1 update in \d+ s; with both measurements \d+ s, on .+$/);
    expect(training).toBeLessThan(all ?? 0);
    const run = join(folder, "run");
    expect(out).toMatch(/\nOne of them: .+ .+\?\n {2}before: .+ \(reward [01]\)\n {3}after: .+ \(reward [01]\)\n/);
    expect(out).toContain(`\nThe run is in ${run}. Next:\n  npx leyden studio ${run} `);
    expect(out).toContain(`\n  npx leyden export my-model --model ${run}  # `);
  });

  it("names both times at its end", () => {
    const result = {
      ...({ before: 0.4, after: 0.9, before_ci: [0.3, 0.5], after_ci: [0.8, 1], pass8_before: 0.9 } as const),
      ...{ tasks: 200, updates: 12, training_seconds: 150.4, seconds: 337.2, seed: 1 },
      ...{ adapter: "llvmpipe", weights_sha256: "", run: "/runs/demo", example: null },
    };
    expect(demoLines(result).at(-1)).toBe("12 updates in 150 s; with both measurements 337 s, on llvmpipe");
  });
});
