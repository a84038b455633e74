import type { Clock } from "../../core/clock.ts";
import { deriveKey, seedKey } from "../../core/rng.ts";
import type { VirtualTurn } from "../../schedule/virtual_run.ts";
import type { Engine, GenerateResult } from "../../schema/engine.ts";
import type { CallRecord, Store } from "../../schema/store.ts";
import { eventTypes, type Rollout } from "../../schema/wire.ts";
import { promptOf, rewardOf, type ToolLatency, turnsOf } from "./workload.ts";

/** What the agents of a run share. */
export interface AgentsOptions {
  readonly store: Store;
  readonly engine: Engine;
  readonly clock: Clock;
  readonly seed: number;
  readonly latency: ToolLatency;
  readonly signal: AbortSignal;
  /** Told of an agent that failed. */
  failed(thrown: unknown): void;
}

/** What a task of the list holds. */
export interface AsyncTask {
  readonly group: number;
  /** A held-out task: two calls, tools that take no time. */
  readonly heldOut: boolean;
  readonly [field: string]: unknown;
}

const attemptId = "0";
const logPage = 1000;

/**
 * Agents as functions of this program, one per rollout that appears in the store: they call the engine, sleep while their
 * tool "works", and leave in the store what gateway and controller would. What is measured is the schedule, not how
 * long processes take to start.
 */
export class InProcessAgents {
  private readonly options: AgentsOptions;

  constructor(options: AgentsOptions) {
    this.options = options;
  }

  /** Follows the store until the signal fires. */
  async run(): Promise<void> {
    const { store, signal, failed } = this.options;
    let seq = 0;
    while (!signal.aborted) {
      for (const entry of await store.log(seq, logPage)) {
        seq = entry.seq;
        if (entry.type !== "rollout_created") continue;
        const rollout = await store.rollout(entry.rolloutId);
        if (rollout !== null) void this.live(rollout).catch(failed);
      }
      await store.changed(seq, signal).catch(() => undefined);
    }
  }

  private async live(rollout: Rollout): Promise<void> {
    const { store, clock, seed, latency, signal } = this.options;
    const id = rollout.rollout_id;
    const { group, heldOut } = rollout.input as AsyncTask;
    const sample = Number(rollout.metadata.sample_idx_in_batch);
    const turns = heldOut ? turnsOf(seed, group, sample, "zero").slice(0, 2) : turnsOf(seed, group, sample, latency);
    const at = (): number => clock.now() / 1000;
    await store.append([
      { type: "rollout_patched", rolloutId: id, patch: { state: "running", last_attempt_id: attemptId }, at: at() },
    ]);
    let conversation = new Int32Array(0);
    const replies: Int32Array[] = [];
    for (const [call, turn] of turns.entries()) {
      if (turn.toolMs > 0) await clock.sleep(turn.toolMs, signal);
      const prompt = joined(conversation, promptOf(seed, group, sample, call));
      const result = await this.call(id, call, prompt, turn);
      const record = callRecord(rollout, call, prompt, result, at());
      await store.append([{ type: "call_recorded", call: record }]);
      conversation = joined(prompt, result.ids);
      replies.push(result.ids);
    }
    const reward = { event_type: eventTypes.reward, rollout_id: id, attempt_id: attemptId, timestamp: at() };
    await store.append([
      { type: "event_posted", event: { ...reward, data: { value: rewardOf(replies) } } },
      { type: "rollout_patched", rolloutId: id, patch: { state: "succeeded" }, at: at() },
    ]);
  }

  private call(rollout: string, call: number, promptIds: Int32Array, turn: VirtualTurn): Promise<GenerateResult> {
    const { engine, seed } = this.options;
    return engine.generate({
      id: `${rollout}-c${call}`,
      promptIds,
      maxTokens: turn.replyTokens,
      sampling: { temperature: 1, topK: 0, topP: 1, minP: 0 },
      key: deriveKey(seedKey(seed), "bench/async/call", rollout, call),
      stopIds: [],
      stopStrings: [],
    });
  }
}

function joined(a: Int32Array, b: Int32Array): Int32Array<ArrayBuffer> {
  const out = new Int32Array(a.length + b.length);
  out.set(a);
  out.set(b, a.length);
  return out;
}

function callRecord(
  { rollout_id: rolloutId, is_train: isTrain }: Rollout,
  call: number,
  promptIds: Int32Array,
  { ids: replyIds, logprobs, versions }: GenerateResult,
  timestamp: number,
): CallRecord {
  return {
    id: `${rolloutId}-c${call}`,
    rolloutId,
    attemptId,
    mode: isTrain ? "train" : "val",
    dialect: "in_process",
    policy: "policy",
    own: true,
    callKey: `${rolloutId}/${call}`,
    parent: call === 0 ? null : `${rolloutId}-c${call - 1}`,
    prefixLength: 0,
    breakReason: null,
    tokens: { promptIds, replyIds, logprobs, versions },
    sampling: {},
    overridden: {},
    truncated: false,
    request: {},
    response: null,
    server: { model: "policy", endpoint: "in_process", version: versions.at(-1) ?? 0 },
    httpStatus: 200,
    finishReason: "length",
    retryCount: 0,
    latencyMs: 0,
    timestamp,
    delivery: "delivered",
  };
}
