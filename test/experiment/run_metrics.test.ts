/**
 * The lines that runs write: every name of the specification, from agents and from completions; what an update's times
 * include, by a virtual clock: validation and checkpoints do not belong to it.
 */
import { describe, expect, it } from "vitest";
import { CompletionLoop } from "../../src/experiment/completion_loop.ts";
import { parseConfig } from "../../src/experiment/config.ts";
import { Loop, type LoopDeps } from "../../src/experiment/loop.ts";
import { freshRunState, type MetricsLine, type RunState } from "../../src/experiment/run_folder.ts";
import type { ExperimentConfig, ExperimentInput } from "../../src/schema/experiment.ts";
import type { StoreEvent } from "../../src/schema/store.ts";
import type { TaskRow } from "../../src/schema/task.ts";
import { MemoryStore } from "../../src/store/memory_store.ts";
import { VirtualClock } from "../engine/virtual_clock.ts";
import { call, event } from "../store/samples.ts";
import { agentNames, missing, scoredNames, updateNames, validationNames } from "./spec_metrics.ts";
import { toyEngine, toyMs } from "./toy_engine.ts";

const fresh: RunState = { ...freshRunState, configSha256: "c" };
const row = (i: number): TaskRow => ({ id: `t${i}`, input: { n: i }, hidden: {} });
const dataset = { train: () => ({ length: Number.POSITIVE_INFINITY, at: row }), heldOut: [row(0), row(1)] };
const silent = { rollouts() {}, failures() {}, update() {}, validation() {} };

/** Times of agents in milliseconds. */
const agentMs = { train: 100, val: 60_000 };
const checkpointMs = 30_000;

function folderOf(lines: MetricsLine[], clock: VirtualClock): LoopDeps["folder"] {
  return {
    appendMetrics: async (line: MetricsLine) => void lines.push(line),
    writeCheckpoint: async () => {
      clock.spend(checkpointMs);
      return "";
    },
    pruneCheckpoints: async () => {},
    errorsOf: async () => "",
  };
}

function configOf(part: ExperimentInput): ExperimentConfig {
  return parseConfig({
    ...{ model: { path: "m" }, task: { dataset: "d" }, eval: { every: 2, samples: 2 } },
    ...part,
    train: { updates: 2, tasksPerUpdate: 2, groupSize: 2, learningRate: 0.25, ...part.train },
  });
}

/** A store in which every rollout that is created is run at once: two calls, of which the even ones are rewarded. */
function busyStore(clock: VirtualClock): MemoryStore {
  const store = new MemoryStore();
  const append = store.append.bind(store);
  store.append = async (events: readonly StoreEvent[]) => {
    await append(events);
    for (const { rollout } of events.flatMap((e) => (e.type === "rollout_created" ? [e] : []))) {
      const { rollout_id: id, is_train: isTrain } = rollout;
      const patch = (state: "running" | "succeeded"): StoreEvent => ({
        ...{ type: "rollout_patched", rolloutId: id, patch: { state, last_attempt_id: "0" } },
        at: clock.now() / 1000,
      });
      await append([patch("running")]);
      clock.spend(agentMs[isTrain ? "train" : "val"]);
      const mode = isTrain ? "train" : "val";
      const first = call(`${id}-a`, id, [1, 2], [3, 4], { mode });
      const second = call(`${id}-b`, id, [1, 2, 3, 4, 5], [6], { mode, parent: first.id });
      const calls = [first, second].map((one): StoreEvent => ({ type: "call_recorded", call: one }));
      const reward: StoreEvent = { type: "event_posted", event: event(id, "reward", { value: 1 }) };
      await append([...calls, ...(id.endsWith("s0") ? [reward] : []), patch("succeeded")]);
    }
    return store.seq();
  };
  return store;
}

async function agentLines(schedule: ExperimentInput["schedule"] = {}, updates = 2): Promise<MetricsLine[]> {
  const clock = new VirtualClock();
  const lines: MetricsLine[] = [];
  const loop = new Loop(
    {
      config: configOf({ rollout: { command: ["c"] }, schedule, train: { updates } }),
      ...{ configSha256: "c", dataset, engine: toyEngine(clock), store: busyStore(clock), clock, hooks: {} },
      ...{ folder: folderOf(lines, clock), rolloutConfig: { timeout_seconds: 1, local: null, k8s: null } },
      ...{ modelFiles: {}, reporter: silent, signal: new AbortController().signal },
    },
    fresh,
  );
  await loop.run();
  return lines;
}

async function completionLines(): Promise<MetricsLine[]> {
  const clock = new VirtualClock();
  const lines: MetricsLine[] = [];
  const codec = { stopIds: [1], encodeRequest: () => ({ ids: Int32Array.of(2, 3) }) } as never;
  const task = { maxTokens: 2, prompt: () => "p", reward: ({ text }: { text: string }) => (text === "4" ? 1 : 0) };
  const train = {
    advantage: "gae",
    critic: "separate",
    klCoef: 0.1,
    klIn: "reward",
    oldLogprobs: "recomputed",
  } as const;
  const loop = new CompletionLoop(
    {
      config: configOf({ rollout: { completion: "c" }, train }),
      ...{ configSha256: "c", dataset, engine: toyEngine(clock), clock, folder: folderOf(lines, clock) },
      completions: { codec, task, tokenText: String },
      ...{ modelFiles: {}, reporter: silent, signal: new AbortController().signal },
    },
    fresh,
  );
  await loop.run();
  return lines;
}

describe("lines of metrics.jsonl", () => {
  it("of agents have every name of the specification", async () => {
    const [first = {}, second = {}] = await agentLines();
    expect(missing(first, [...updateNames, ...agentNames])).toEqual([]);
    expect(missing(second, [...updateNames, ...agentNames, ...validationNames])).toEqual([]);
    expect(missing(first, validationNames)).toEqual(validationNames);
    expect(first).toMatchObject({ "actor/pg_loss": 0.5, "actor/loss": 1, "actor/lr": 0.25 });
  });

  it("of completions have them too, those of critic and reference policy as well", async () => {
    const [first = {}, second = {}] = await completionLines();
    expect(missing(first, [...updateNames, ...scoredNames])).toEqual([]);
    expect(missing(second, [...updateNames, ...scoredNames, ...validationNames])).toEqual([]);
    // Four replies of two tokens, scored a quarter below what was recorded.
    expect(first).toMatchObject({ "training/logprob_diff_n": 8, "training/logprob_diff_max": 0.25 });
    expect(first).toMatchObject({ "training/logprob_diff_n_mixed": 0, "actor/kl_coef": 0.1, "actor/lr": 0.25 });
  });

  it("count what was validated: rollouts with replies and with rewards, turns and lengths", async () => {
    const [, second = {}] = await agentLines();
    expect(second).toMatchObject({
      ...{ "val/n_rollouts": 4, "val/n_rollouts_w_trace": 4, "val/n_rollouts_w_reward": 2, "val/reward": 0.5 },
      ...{ "val/turn_count": 2, "val/mean_response_length_per_turn": 1.5 },
      "val/mean_total_response_length_per_rollout": 3,
    });
  });

  it("say how old carried-over groups are, and what was in flight", async () => {
    const [sync = {}] = await agentLines();
    expect(sync).toMatchObject({
      ...{ "training/async/n_new_carry_over_rollouts": 0, "training/async/new_carry_over_age_max_steps": 0 },
      "training/async/proxy_inflight_at_pause": 3,
    });
    const lines = await agentLines({ mode: "collocated", activeGroups: 5 }, 3);
    // Five groups start in the first step and one in the second; of those, the fifth is trained in the third.
    const carried = lines.map((line) => [
      line["training/async/n_new_carry_over_rollouts"],
      line["training/async/new_carry_over_age_max_steps"],
    ]);
    expect(carried).toEqual([
      [6, 0],
      [4, 1],
      [0, 0],
    ]);
  });
});

describe("an update's times", () => {
  it("end with its last step: what is validated and saved after it is no part of them", async () => {
    const lines = await agentLines();
    const gen = (4 * agentMs.train) / 1000;
    const step = gen + toyMs.update / 1000;
    for (const line of lines) {
      expect(line["timing_s/gen"]).toBeCloseTo(gen, 9);
      for (const name of ["timing_s/step", "perf/time_per_step"]) expect(line[name]).toBeCloseTo(step, 9);
      // Four chats of six tokens, of which training computes those that two of one task share once.
      expect(line).toMatchObject({ "perf/total_num_tokens": 24, "global_seqlen/mean": 24 });
      expect(line["training/n_tokens_computed"]).toBeLessThan(24);
      expect(line["perf/throughput"]).toBeCloseTo(24 / step, 9);
      // A span of the update starts where it started.
      const start = Number(line.time) - Number(line["timing_s/step"]);
      expect(start).toBeCloseTo(Number(line["timing/step_start_wall"]), 9);
      expect(line["timing/rollout_phase_end_wall"]).toBeCloseTo(start + gen, 9);
    }
    const [first = {}, second = {}] = lines;
    expect(first["timing/step_start_wall"]).toBe(0);
    expect(second["timing/step_start_wall"]).toBeCloseTo(step + checkpointMs / 1000, 9);
    const parts = ["prefill", "decode", "train", "optimizer", "score", "idle"];
    expect(parts.map((kind) => second[`device/${kind}_s`])).toEqual([0, 0, toyMs.update / 1000, 0, 0, 0]);
  });

  it("are the same of completions, part by part", async () => {
    const lines = await completionLines();
    const gen = (4 * toyMs.generate) / 1000;
    const [score, critic, update] = [toyMs.score / 1000, toyMs.critic / 1000, toyMs.update / 1000];
    for (const line of lines) {
      expect(line).toMatchObject({
        ...{ "timing_s/gen": gen, "timing_s/adv": 0, "timing_s/step": gen + 3 * score + critic + update },
        ...{ "timing_s/old_log_prob": score, "timing_s/ref": score, "timing_s/values": score },
        ...{ "timing_s/update_critic": critic, "timing_s/update_actor": update },
        ...{ "device/decode_s": gen, "device/score_s": 3 * score, "device/train_s": critic + update },
        // Prompts and replies of two tokens, four times.
        ...{ "timing_per_token_ms/gen": (1000 * gen) / 8, "timing_per_token_ms/update_actor": (1000 * update) / 16 },
      });
      expect(Number(line.time) - Number(line["timing_s/step"])).toBeCloseTo(Number(line["timing/step_start_wall"]), 9);
    }
  });
});
