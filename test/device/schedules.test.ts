// Plan: what a schedule may not change, with a real model. The whole loop at age 0: interleaved, with gradients between
// decode steps and tools that take other times, learns and says what sync does to the last bit. Gradients of groups that
// are begun as these finish: the update is the same bits whoever finishes first, and it is the schedule that makes it so.
import { describe, expect, it } from "#test";
import { Rng, seedKey } from "../../src/core/rng.ts";
import { engineDefaults } from "../../src/engine/engine_options.ts";
import { LocalEngine } from "../../src/engine/local_engine.ts";
import { ModelParts } from "../../src/engine/model_parts.ts";
import { parseConfig } from "../../src/experiment/config.ts";
import { Loop } from "../../src/experiment/loop.ts";
import { objectiveOf } from "../../src/experiment/objective.ts";
import { freshRunState, type MetricsLine, RunFolder } from "../../src/experiment/run_folder.ts";
import { UpdateCollector } from "../../src/experiment/update_collector.ts";
import { parseHfConfig } from "../../src/io/hf_config.ts";
import { Model } from "../../src/model/model.ts";
import { memoryFiles } from "../../src/platform/memory_files.ts";
import type { GroupRecord } from "../../src/rl/batch/batch_input.ts";
import type { DevicePolicy } from "../../src/schedule/device_schedule.ts";
import { GroupSchedule } from "../../src/schedule/group_schedule.ts";
import type { ExperimentConfig, ExperimentInput } from "../../src/schema/experiment.ts";
import { qwen3Config } from "../model/configs.ts";
import { testDevice } from "../ops/opcheck.ts";
import { call, group, rollout } from "../rl/groups.ts";
import { StoreWithAgents, type ToolTime } from "./small_agents.ts";

const clock = { now: () => 0, monotonic: () => performance.now(), sleep: async () => {} };
const vocabulary = 40;

async function openEngine(policy: DevicePolicy): Promise<LocalEngine> {
  const options = { ...engineDefaults, modelFolder: "", kvTokens: 1024, maxSequences: 8, microBatchTokens: 64 };
  const device = await testDevice();
  const model = Model.initialize(device, parseHfConfig(qwen3Config), { seed: 5, std: 0.3 });
  const parts = new ModelParts({ model, options, clock, decodeText: () => "" });
  // The engines of this file share a device, and what is compiled for it.
  parts.dispose = () => model.dispose();
  return LocalEngine.open({ open: async () => parts, clock, limits: options, version: 0, faults: [], policy });
}

function configOf(schedule: NonNullable<ExperimentInput["schedule"]>): ExperimentConfig {
  return parseConfig({
    ...{ model: { path: "m" }, task: { dataset: "d" }, rollout: { command: ["c"] }, schedule },
    train: { updates: 2, tasksPerUpdate: 2, groupSize: 3, learningRate: 1e-2, microBatchTokens: 64 },
    store: { kind: "memory", checkpointEvery: 2 },
  });
}

/** Everything a run's policy said and learnt. */
async function runOf(config: ExperimentConfig, policy: DevicePolicy, toolMs: ToolTime) {
  const engine = await openEngine(policy);
  const store = new StoreWithAgents(engine, toolMs);
  const lines: MetricsLine[] = [];
  const deps = {
    ...{ config, configSha256: "c", engine, store, folder: new RunFolder(memoryFiles(), "/run"), clock },
    dataset: {
      train: () => ({ at: (i: number) => ({ id: `t${i}`, input: { number: i }, hidden: {} }), length: 99 }),
      heldOut: [],
    },
    ...{ rolloutConfig: { timeout_seconds: 60, local: null, k8s: null }, hooks: {}, modelFiles: {} },
    reporter: { rollouts() {}, failures() {}, validation() {}, update: (line: MetricsLine) => void lines.push(line) },
    signal: new AbortController().signal,
  };
  await new Loop(deps, { ...freshRunState, configSha256: "c" }).run();
  const { weightsSha256 } = await engine.snapshot({ optimizer: false });
  await engine.close();
  const learnt = lines.map((line) => [line["actor/loss"], line["actor/grad_norm"], line["training/reward"]]);
  return { weightsSha256, learnt, said: [...store.said].sort(([a], [b]) => (a < b ? -1 : 1)) };
}

/** Four groups of two rollouts with random tokens and rewards. */
function someGroups(rng: Rng): GroupRecord[] {
  const ids = (count: number): number[] => Array.from({ length: count }, () => rng.below(vocabulary));
  const lived = (id: string) => {
    const reply = ids(3 + rng.below(9));
    const logprobs = reply.map(() => -3.5 + 0.3 * rng.normal());
    return rollout(id, rng.uniform(), [call(ids(5), reply, { logprobs, versions: reply.map(() => 0) })]);
  };
  return Array.from({ length: 4 }, (_, g) => group(`g${g}`, [lived(`g${g}-0`), lived(`g${g}-1`)]));
}

const groups = someGroups(new Rng(seedKey(6)));
const interleaved = { mode: "interleaved", activeGroups: 4, maxAge: 2 } as const;
const objective = objectiveOf(configOf(interleaved).train, { seed: 1, update: 1, klCoef: 0 });
const keep = { inFlight: "keep", stepsPerQuantum: 2 } as const;

/** The weights after one update on all groups, collected in the order that `collect` gives them in. */
async function weightsAfter(collect: (begin: (group: GroupRecord) => void) => void): Promise<string> {
  const engine = await openEngine(keep);
  const collector = new UpdateCollector({ engine, clock });
  collect((record) => collector.collect(record.id, async () => record, objective));
  await collector.take("u", groups, objective);
  const { weightsSha256 } = await engine.snapshot({ optimizer: false });
  await engine.close();
  return weightsSha256;
}

/** The same where the groups finish in this order and the schedule says which comes next. */
function weightsFinishing(order: readonly GroupRecord[]): Promise<string> {
  const schedule = new GroupSchedule<GroupRecord>({ ...interleaved, tasksPerUpdate: groups.length }, groups.length);
  for (const record of groups) schedule.start(record);
  return weightsAfter((begin) => {
    for (const record of order) {
      schedule.finish(record);
      for (let next = schedule.collectable(); next !== null; next = schedule.collectable()) {
        schedule.collect(next);
        begin(next);
      }
    }
  });
}

describe("a schedule", () => {
  it("of age 0 learns what sync does, to the last bit, when it is interleaved", async () => {
    const drain = { inFlight: "drain", stepsPerQuantum: 1 } as const;
    const late: ToolTime = (id, i) => (id.charCodeAt(6) + 3 * i + id.length) % 5;
    const sync = await runOf(configOf({ mode: "sync" }), drain, late);
    const other = await runOf(configOf({ ...interleaved, maxAge: 0 }), keep, (id, i) => 4 - late(id, i));
    expect(sync.said).toHaveLength(2 * 2 * 3 * 2);
    expect(sync.learnt.every(([, norm]) => Number(norm) > 0)).toBe(true);
    expect(other).toEqual(sync);
  });

  it("adds gradients up in the order of the groups' starts, whoever finishes first", async () => {
    const [a, b, c, d] = groups as [GroupRecord, GroupRecord, GroupRecord, GroupRecord];
    const expected = await weightsFinishing(groups);
    for (const order of [
      [d, c, b, a],
      [b, d, a, c],
    ]) {
      expect(await weightsFinishing(order)).toBe(expected);
    }
    // The sum does depend on the order.
    expect(await weightsAfter((begin) => [d, c, b, a].forEach(begin))).not.toBe(expected);
  });
});
