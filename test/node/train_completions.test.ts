/** Training on completions from the command line: PPO with a critic or a value head from random weights, stopped and gone on with. */
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runLeyden } from "../cli/run_leyden.ts";

const digits = new URL("../../examples/digits", import.meta.url).pathname;
let folder = "";

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "leyden-completions-"));
});

afterAll(() => rm(folder, { recursive: true, force: true }));

/** Trains a small share of the digits example; the last line of its output. */
async function train(out: string, updates: number, more: readonly string[] = []): Promise<Record<string, unknown>> {
  const sizes = ["train.tasksPerUpdate=24", "eval.every=2", "eval.tasks=8", "store.checkpointEvery=1"];
  const args = ["train", digits, "--out", join(folder, out), "--json", "--updates", String(updates), ...more];
  const ran = await runLeyden([...args, ...sizes.flatMap((s) => ["--set", s])]);
  const last = ran.json().at(-1) as Record<string, unknown>;
  expect(ran.code, JSON.stringify(last)).toBe(0);
  return last;
}

async function lines(out: string): Promise<Record<string, number>[]> {
  const text = await readFile(join(folder, out, "metrics.jsonl"), "utf8");
  return text
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
}

describe("leyden train on completions", () => {
  it("takes every optimizer step of policy and critic, and goes on after a stop as if there had been none", async () => {
    const whole = await train("whole", 2);
    await train("parts", 1);
    const parts = await train("parts", 2, ["--resume"]);
    expect(parts.weights_sha256).toBe(whole.weights_sha256);
    expect(parts).toMatchObject({ updates: 2, version: 8 });

    const [first, second] = (await lines("whole")) as [Record<string, number>, Record<string, number>];
    expect(first).toMatchObject({ step: 1, version: 4, "training/n_optimizer_steps": 4, "training/n_rollouts": 24 });
    // Drawn and scored by the same weights, cached and batched here, packed there.
    expect(first["rollout_corr/max_log_ratio"]).toBeLessThan(1e-4);
    expect([first["critic/values/max"], first["actor/reward_kl_penalty"]]).toEqual([0, 0]);
    expect(second["critic/values/max"]).not.toBe(0);
    expect(second["val/n_rollouts"]).toBe(8);
    const again = (await lines("parts")) as Record<string, number>[];
    // The last update of a run is validated, so the stopped one was once more.
    const timeless = ({ time: _, ...line }: Record<string, number>) =>
      Object.fromEntries(
        Object.entries(line).filter(([name]) => !/^(timing|timing_s|timing_per_token_ms|perf|device|val)\//.test(name)),
      );
    expect(again.map(timeless)).toEqual([first, second].map(timeless));

    const checkpoint = join(folder, "whole", "checkpoints", "step_2");
    expect((await readdir(join(checkpoint, "critic"))).sort()).toEqual([
      "config.json",
      "model.safetensors",
      "optimizer.safetensors",
    ]);
    const { architectures } = JSON.parse(await readFile(join(checkpoint, "critic", "config.json"), "utf8"));
    expect(architectures).toEqual(["LlamaForTokenClassification"]);
  }, 240_000);

  it("learns with a value head in the policy's own steps, and goes on after a stop as if there had been none", async () => {
    const head = ["train.critic=head", "train.valueCoef=0.2"].flatMap((s) => ["--set", s]);
    const whole = await train("head", 2, head);
    await train("head-parts", 1, head);
    const parts = await train("head-parts", 2, [...head, "--resume"]);
    expect(parts.weights_sha256).toBe(whole.weights_sha256);
    const [first, second] = (await lines("head")) as [Record<string, number>, Record<string, number>];
    const [, again] = (await lines("head-parts")) as [Record<string, number>, Record<string, number>];
    expect(first["critic/values/max"]).toBe(0);
    expect(second["critic/values/max"]).not.toBe(0);
    for (const name of ["critic/vf_loss", "critic/values/mean", "actor/grad_norm", "critic/vf_explained_var"]) {
      expect([name, again[name]]).toEqual([name, second[name]]);
    }
    const files = await readdir(join(folder, "head", "checkpoints", "step_2"));
    expect(files).toEqual(expect.arrayContaining(["value_head.safetensors", "value_head_optimizer.safetensors"]));
    expect(files).not.toContain("critic");
  }, 240_000);
});
