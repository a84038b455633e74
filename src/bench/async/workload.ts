import { deriveKey, Rng, seedKey } from "../../core/rng.ts";
import type { VirtualTurn, VirtualWorkload } from "../../schedule/virtual_run.ts";

/** The fixed list of work that every mode consumes to its end. */
export const asyncWork = {
  groups: 48,
  groupSize: 4,
  tasksPerUpdate: 8,
  activeGroups: 16,
  maxAge: 4,
  /** Calls of a rollout: lognormal, at least 1. */
  callsMedian: 6,
  callsSigma: 0.9,
  callsMax: 40,
  replyTokens: 16,
  /** Tokens of the first prompt, and those a tool's answer adds. */
  promptTokens: 64,
  toolTokens: 144,
  /** A tool's time in milliseconds between two calls: lognormal. */
  toolMedianMs: 300,
  toolSigma: 1,
} as const;

/** The model, untrained: weights from a seed. */
export const asyncModel = {
  model_type: "llama",
  vocab_size: 256,
  hidden_size: 64,
  num_hidden_layers: 2,
  num_attention_heads: 4,
  num_key_value_heads: 4,
  intermediate_size: 256,
  max_position_embeddings: 8192,
  rms_norm_eps: 1e-5,
  tie_word_embeddings: true,
} as const;

/** Whether tools take their time, or none. */
export type ToolLatency = "tools" | "zero";

/** The turns of one rollout: they depend on the seed and its place in the list, never on what the policy says. */
export function turnsOf(seed: number, group: number, sample: number, latency: ToolLatency): VirtualTurn[] {
  const rng = new Rng(deriveKey(seedKey(seed), "bench/async/turns", group, sample));
  const { callsMedian, callsSigma, callsMax, replyTokens, promptTokens, toolTokens, toolMedianMs, toolSigma } =
    asyncWork;
  const drawn = Math.round(callsMedian * Math.exp(callsSigma * rng.normal()));
  const calls = Math.min(callsMax, Math.max(1, drawn));
  return Array.from({ length: calls }, (_, call) => {
    const slept = toolMedianMs * Math.exp(toolSigma * rng.normal());
    return {
      toolMs: call === 0 || latency === "zero" ? 0 : slept,
      promptTokens: call === 0 ? promptTokens : toolTokens,
      replyTokens,
    };
  });
}

/** Tokens a prompt adds at a place of the list: the first prompt is the task's, the others are the rollout's own. */
export function promptOf(seed: number, group: number, sample: number, call: number): Int32Array {
  const place = call === 0 ? [group] : [group, sample, call];
  const rng = new Rng(deriveKey(seedKey(seed), "bench/async/prompt", ...place));
  const length = call === 0 ? asyncWork.promptTokens : asyncWork.toolTokens;
  return Int32Array.from({ length }, () => rng.below(asyncModel.vocab_size));
}

/** What a rollout earns: the share of its sampled tokens in the lower half of the vocabulary. */
export function rewardOf(replies: readonly Int32Array[]): number {
  const ids = replies.flatMap((reply) => Array.from(reply));
  return ids.filter((id) => id < asyncModel.vocab_size / 2).length / Math.max(1, ids.length);
}

/** The list as the virtual clock takes it. */
export function virtualWorkload(seed: number, latency: ToolLatency): VirtualWorkload {
  const groups = Array.from({ length: asyncWork.groups }, (_, group) =>
    Array.from({ length: asyncWork.groupSize }, (_, sample) => turnsOf(seed, group, sample, latency)),
  );
  return { groups, sharedTokens: asyncWork.promptTokens };
}
