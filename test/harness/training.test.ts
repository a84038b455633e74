/**
 * A real program trained for real: an agent on the ai package and its unmodified client, whose calculator model draws
 * every token, through `leyden train` for a few updates. Every call is trained, none is lost, and the weights change.
 */
import { execFile } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, expect, it } from "vitest";
import { openStoreForReading } from "../../src/app/open_store.ts";
import { platform } from "../../src/platform/node.ts";
import { harnessFolder } from "./rig.ts";

const at = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "leyden-harness-train-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const updates = 3;
const config = {
  model: { path: at("examples/calc/model"), kvTokens: 16_384, maxSequences: 32 },
  task: { dataset: at("examples/calc/tasks.ts") },
  rollout: {
    command: ["node", "programs/ai_calc.mjs", "{input.question}"],
    cwd: harnessFolder,
    concurrency: 8,
    startConcurrency: 2,
    timeoutSeconds: 200,
    silenceSeconds: 150,
    reward: "grader",
    grader: "numeric",
    graderOptions: { field: "answer" },
  },
  train: { updates, tasksPerUpdate: 3, groupSize: 4, temperature: 1, advantage: "grpo", learningRate: 0.001 },
  schedule: { mode: "sync" },
  store: { kind: "sqlite" },
};

function train(run: string): Promise<string> {
  writeFileSync(join(folder, "config.json"), JSON.stringify(config));
  return new Promise((resolve, reject) => {
    execFile(process.execPath, [at("src/cli/main.ts"), "train", folder, "--out", run], (error, stdout, stderr) => {
      if (error) reject(new Error(`${error.message}\n${stdout}${stderr}`));
      else resolve(stdout);
    });
  });
}

it("trains an agent on the ai package", { timeout: 600_000 }, async () => {
  const run = join(folder, "run");
  await train(run);
  const lines = readFileSync(join(run, "metrics.jsonl"), "utf8").trim().split("\n");
  const steps = lines.map((line) => JSON.parse(line) as Record<string, number>).filter((step) => "actor/loss" in step);
  expect(steps.map(({ version }) => version)).toEqual([1, 2, 3]);

  const store = await openStoreForReading(platform, join(run, "store.sqlite"));
  const rollouts = await store.rollouts();
  const calls = (await Promise.all(rollouts.map(({ rollout_id: id }) => store.calls(id)))).flat();
  await store.close();
  expect(rollouts.map(({ status }) => status.state)).toEqual(rollouts.map(() => "succeeded"));
  expect(calls.map(({ own, delivery, breakReason }) => [own, delivery, breakReason])).toEqual(
    calls.map(() => [true, "delivered", null]),
  );
  // Some agents asked twice: the calculator's answer went back to the model under the recorded tokens.
  expect(calls.filter(({ parent }) => parent !== null).length).toBeGreaterThan(updates);
  expect(steps.reduce((sum, step) => sum + (step["training/n_calls"] ?? 0), 0)).toBe(calls.length);
  for (const step of steps) {
    const lost = Object.entries(step).filter(
      ([name, n]) => /n_calls_|breaks\/|n_rollouts_failed/.test(name) && n !== 0,
    );
    expect(lost).toEqual([]);
    expect(step["training/logprob_diff_max"]).toBeLessThan(1e-4);
  }

  expect(Math.max(...steps.map((step) => step["actor/grad_norm"] ?? 0))).toBeGreaterThan(0);
  const weights = readdirSync(join(run, "checkpoints")).map(
    (step) => JSON.parse(readFileSync(join(run, "checkpoints", step, "state.json"), "utf8")).weightsSha256 as string,
  );
  expect(weights).not.toEqual([]);
  const before = JSON.parse(readFileSync(at("examples/calc/model/sft.json"), "utf8")).weights_sha256 as string;
  expect(new Set([before, ...weights]).size).toBe(weights.length + 1);
});
