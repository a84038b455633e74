/**
 * Two policies over one model, called by name by one agent in a process of its own: each adapter learns from its own calls
 * alone, in whatever order they stand; a policy that is never called stays as it was; a stopped run goes on with both,
 * their moments and their value heads; numbers of each stand in metrics.jsonl.
 */
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { memoryWeights } from "../../src/model/memory_weights.ts";
import { platform } from "../../src/platform/node.ts";
import { runLeyden } from "../cli/run_leyden.ts";

const team = new URL("../../examples/team", import.meta.url).pathname;
let folder = "";

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "leyden-policies-"));
});

afterAll(() => rm(folder, { recursive: true, force: true }));

const sizes = ["train.tasksPerUpdate=4", "train.groupSize=8", "eval.tasks=4", "store.checkpointEvery=1"];
const byName = { PLANNER_MODEL: "planner", WORKER_MODEL: "worker" };

interface Settings {
  updates?: number;
  policies?: readonly string[];
  env?: Record<string, string>;
  more?: readonly string[];
}

/** A few updates of a small share of the team example; the last line of its output. */
async function train(
  out: string,
  { updates = 1, policies = ["planner", "worker"], env = byName, more = [] }: Settings,
) {
  const several = [`train.policies=${JSON.stringify(policies)}`, `rollout.env=${JSON.stringify(env)}`];
  const set = [...sizes, "train.loraRank=4", "train.learningRate=0.002", ...several].flatMap((s) => ["--set", s]);
  const args = ["train", team, "--out", join(folder, out), "--json", "--seed", "3", "--updates", String(updates)];
  const ran = await runLeyden([...args, ...set, ...more]);
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

/** The numbers of a policy's adapter in a checkpoint, by tensor. */
async function adapter(out: string, update: number, policy: string): Promise<Map<string, Float32Array>> {
  const path = join(folder, out, "checkpoints", `step_${update}`, policy, "adapter_model.safetensors");
  const file = await memoryWeights(path, await platform.files.read(path));
  const entries = await Promise.all(file.names.map(async (name) => [name, await file.read(name)] as const));
  return new Map(entries);
}

/** Whether an adapter still adds nothing, as a fresh one. */
function isFresh(tensors: Map<string, Float32Array>): boolean {
  return [...tensors].every(([name, values]) => !name.includes("lora_B") || values.every((v) => v === 0));
}

describe("leyden train with several policies", () => {
  it("trains each on its own calls, and goes on after a stop as if there had been none", async () => {
    const whole = await train("whole", { updates: 2 });
    await train("parts", { updates: 1 });
    const parts = await train("parts", { updates: 2, more: ["--resume"] });
    expect(parts.weights_sha256).toBe(whole.weights_sha256);
    expect(parts.updates).toBe(2);

    const recorded = await lines("whole");
    const steps = ["planner", "worker"].map((name) =>
      recorded.reduce((n, line) => n + (line[`policy/${name}/training/n_optimizer_steps`] as number), 0),
    ) as [number, number];
    expect(Math.min(...steps)).toBeGreaterThan(0);
    expect(parts.version).toBe(steps[0] + steps[1]);
    for (const line of recorded) {
      const [planner, worker] = ["planner", "worker"].map((name) => (key: string) => line[`policy/${name}/${key}`]) as [
        (key: string) => number,
        (key: string) => number,
      ];
      expect(planner("training/n_rollouts")).toBe(32);
      expect(planner("training/n_tokens")).toBeGreaterThan(0);
      expect(worker("training/n_tokens")).toBeGreaterThan(0);
      // What one leaves out is what the other trains.
      expect(planner("training/n_calls") + planner("training/n_calls_excluded")).toBe(
        worker("training/n_calls") + worker("training/n_calls_excluded"),
      );
      expect(planner("training/n_calls_excluded")).toBe(worker("training/n_calls"));
      expect(line["training/n_tokens"]).toBe(planner("training/n_tokens"));
      for (const of of [planner, worker]) {
        expect(of("actor/grad_norm") > 0).toBe(of("training/n_tokens_trained") > 0);
        // The other's step is none of its own.
        expect(of("async/age_max")).toBe(0);
      }
      // Both agree with what was recorded, each under its own weights.
      expect(line["training/logprob_diff_max"]).toBeLessThan(1e-4);
      expect(line["training/logprob_diff_n"]).toBe(
        planner("training/n_tokens_trained") + worker("training/n_tokens_trained"),
      );
    }
    for (const name of ["planner", "worker"]) {
      const [first, second] = [await adapter("whole", 1, name), await adapter("whole", 2, name)];
      expect(isFresh(second)).toBe(false);
      const moved = recorded[1]?.[`policy/${name}/training/n_optimizer_steps`] === 1;
      if (moved) expect(second).not.toEqual(first);
      else expect(second).toEqual(first);
    }
    const checkpoint = join(folder, "whole", "checkpoints", "step_2");
    for (const name of ["planner", "worker"]) {
      expect((await readdir(join(checkpoint, name))).sort()).toEqual([
        "adapter_config.json",
        "adapter_model.safetensors",
        "optimizer.safetensors",
      ]);
    }
  }, 300_000);

  it("changes no policy by the other's calls: not by their order, nor one that nobody calls", async () => {
    await train("one", {});
    await train("other", { policies: ["worker", "planner"] });
    for (const name of ["planner", "worker"]) {
      expect(await adapter("other", 1, name)).toEqual(await adapter("one", 1, name));
    }
    await train("unused", { env: {} });
    expect(isFresh(await adapter("unused", 1, "planner"))).toBe(false);
    expect(isFresh(await adapter("unused", 1, "worker"))).toBe(true);
    const [line] = await lines("unused");
    expect(line).toMatchObject({ "policy/worker/training/n_tokens": 0, "policy/planner/training/n_calls_excluded": 0 });
  }, 300_000);

  it("gives each a value head of its own", async () => {
    const more = ["advantage=gae", "critic=head"].flatMap((s) => ["--set", `train.${s}`]);
    const whole = await train("heads", { updates: 2, more });
    await train("heads-parts", { updates: 1, more });
    const parts = await train("heads-parts", { updates: 2, more: [...more, "--resume"] });
    expect(parts.weights_sha256).toBe(whole.weights_sha256);
    const [, second] = await lines("heads");
    const [, again] = await lines("heads-parts");
    for (const name of ["planner", "worker"]) {
      const key = `policy/${name}/critic/values/mean`;
      expect(second?.[key]).not.toBe(0);
      expect(again?.[key]).toBe(second?.[key]);
      const files = await readdir(join(folder, "heads", "checkpoints", "step_2", name));
      expect(files).toEqual(expect.arrayContaining(["value_head.safetensors", "value_head_optimizer.safetensors"]));
    }
  }, 300_000);
});
