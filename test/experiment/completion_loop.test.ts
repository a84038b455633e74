/** The loop over completions against an engine that answers from a table: draws, rewards, updates, refill, resuming. */
import { describe, expect, it } from "vitest";
import { CompletionLoop } from "../../src/experiment/completion_loop.ts";
import { parseConfig } from "../../src/experiment/config.ts";
import type { MetricsLine, RunState } from "../../src/experiment/run_folder.ts";
import type { CompletionReply } from "../../src/schema/completion.ts";
import type { Engine, GenerateRequest, TrainRow, UpdateRequest } from "../../src/schema/engine.ts";
import type { TrainConfig } from "../../src/schema/train_config.ts";
import { stillClock } from "../runtime/still_clock.ts";

const fresh: RunState = {
  ...{ format: 1, update: 0, version: 0, optimizerSteps: 0, cursor: 0, carryOver: [], storeSeq: 0 },
  ...{ configSha256: "h", weightsSha256: "" },
};

interface Rig {
  loop: CompletionLoop;
  lines: MetricsLine[];
  checkpoints: RunState[];
  generated: GenerateRequest[];
  trained: TrainRow[];
}

/** Task 1 is solved by every other reply, task n earns n otherwise. */
function solved({ task, text }: CompletionReply): number | number[] {
  if (task.input.n === 1) return text === "4" ? [0.5, 0.5] : [0, 0];
  return task.input.n as number;
}

/** Replies are two tokens, the second the stop; `judge` rewards them. */
function rig(train: Partial<TrainConfig>, state: RunState = fresh, weights = "w", judge = solved): Rig {
  const config = parseConfig({
    ...{ model: { path: "m" }, task: { dataset: "d" }, rollout: { completion: "c" }, eval: { every: 2 } },
    train: { updates: 2, tasksPerUpdate: 2, groupSize: 2, ...train },
  });
  const out: Omit<Rig, "loop"> = { lines: [], checkpoints: [], generated: [], trained: [] };
  let version = state.version;
  const engine = {
    info: async () => ({ version, microBatchTokens: 100 }),
    stats: async () => ({ deviceSeconds: { prefill: 0, decode: 0, train: 0, optimizer: 0, score: 0, idle: 0 } }),
    generate: async (request: GenerateRequest) => {
      out.generated.push(request);
      const ids = Int32Array.of(request.id.endsWith("s0") ? 4 : 5, 1);
      return {
        ...{ id: request.id, ids, logprobs: Float32Array.of(-0.5, -0.25), versions: Int32Array.of(version, version) },
        ...{ finishReason: "stop", cachedTokens: 0, truncated: false },
      };
    },
    update: async ({ rows }: UpdateRequest) => {
      out.trained.push(...rows);
      const n = rows.reduce((sum, row) => sum + row.src.length, 0);
      version += n > 0 ? 1 : 0;
      return { version, skipped: n > 0 ? null : "empty_batch", logprobs: new Float32Array(n), trainMs: 0, drainMs: 0 };
    },
    snapshot: async () => ({ version, optimizerSteps: version, files: {}, weightsSha256: weights }),
  } as unknown as Engine;
  const folder = {
    appendMetrics: async (line: MetricsLine) => void out.lines.push(line),
    writeCheckpoint: async (saved: RunState) => {
      out.checkpoints.push(saved);
      return "";
    },
    pruneCheckpoints: async () => {},
  };
  const row = (i: number) => ({ id: `t${i}`, input: { n: i }, hidden: {} });
  const codec = { stopIds: [1], encodeRequest: () => ({ ids: Int32Array.of(2, 3) }) } as never;
  const reward = (reply: CompletionReply): number | number[] => {
    expect([reply.text.length, reply.tokens.length, reply.stopped]).toEqual([1, 2, true]);
    return judge(reply);
  };
  const loop = new CompletionLoop(
    {
      ...{ config, configSha256: "h", engine, folder, clock: stillClock, modelFiles: {} },
      dataset: { train: () => ({ length: 99, at: row }), heldOut: [row(0), row(1)] },
      completions: { codec, task: { maxTokens: 2, prompt: () => "p", reward }, tokenText: String },
      reporter: { rollouts() {}, failures() {}, update() {}, validation() {} },
      signal: new AbortController().signal,
    },
    state,
  );
  return { ...out, loop };
}

describe("training on completions", () => {
  it("draws groups, trains on their rewards, validates and saves every update", async () => {
    const one = rig({ advantage: "dr_grpo" });
    const ended = await one.loop.run();
    expect(ended).toMatchObject({ updates: 2, version: 1, validation: 0.5 });
    // Tasks 0 and 1, then 2 and 3: only task 1 has rewards that differ.
    expect(one.lines.map((line) => [line.step, line["training/reward"], line["training/n_zero_adv_groups"]])).toEqual([
      [1, 0.25, 1],
      [2, 2.5, 2],
    ]);
    expect(one.lines[1]).toMatchObject({ "val/reward": 0.5, "training/skipped": "empty_batch" });
    expect(one.trained.flatMap((row) => [...row.advantage])).toEqual([0.5, -0.5, 0.5, -0.5]);
    expect(one.checkpoints.map(({ update, cursor }) => [update, cursor])).toEqual([
      [1, 2],
      [2, 4],
    ]);
  });

  it("gives the tokens their own rewards, and each reply draws of its own that its name decides", async () => {
    const one = rig({ advantage: "returns", advantageOptions: { whiten: 0 }, updates: 1 });
    await one.loop.run();
    expect(one.trained.flatMap((row) => [...row.advantage]).filter((a) => a !== 0)).toEqual([1, 0.5]);
    const again = rig({ updates: 1 });
    await again.loop.run();
    expect(again.generated.map((g) => g.key)).toEqual(one.generated.map((g) => g.key));
    expect(new Set(one.generated.map((g) => String(g.key))).size).toBe(one.generated.length);
  });

  it("takes a reply with a reward that cannot be trained as one without, and trains the others", async () => {
    for (const bad of [Number.NaN, -1e308, [0.5, Number.NaN], [Number.POSITIVE_INFINITY, 0], [9e11, 9e11]]) {
      const judge = ({ task, text }: CompletionReply): number | number[] =>
        task.input.n === 0 ? bad : text === "4" ? 1 : 0;
      const one = rig({ advantage: "returns", advantageOptions: { whiten: 0 }, updates: 1 }, fresh, "w", judge);
      await one.loop.run();
      expect(one.lines[0]).toMatchObject({
        ...{ "training/n_rollouts": 4, "training/n_rollouts_w_reward": 2, "training/reward": 0.25 },
        "training/skipped": null,
      });
      expect(one.trained.flatMap((row) => [...row.advantage]).filter((a) => a !== 0)).toEqual([1, 1]);
    }
  });

  it("replaces groups of equal rewards where asked, and says how many, but not without end", async () => {
    const one = rig({ zeroVariance: "refill", updates: 1, advantage: "dr_grpo" });
    await one.loop.run();
    // Eight of them are replaced for two tasks; then what comes is taken, and left out of the denominators.
    expect(one.lines[0]).toMatchObject({
      ...{ "training/n_groups_replaced": 8, "training/n_groups": 1 },
      "training/n_groups_zero_variance_excluded": 1,
    });
    expect(one.checkpoints[0]?.cursor).toBe(10);
  });

  it("goes on from a state as if it had not stopped, and refuses weights that are not the saved ones", async () => {
    const whole = rig({ advantage: "returns" });
    await whole.loop.run();
    const [saved] = whole.checkpoints as [RunState];
    const rest = rig({ advantage: "returns" }, saved);
    await rest.loop.run();
    expect(rest.lines).toEqual(whole.lines.slice(1));
    const other = rig({}, saved, "else");
    await expect(other.loop.run()).rejects.toThrow("The weights of checkpoint step_1 are not those that were saved.");
  });
});
