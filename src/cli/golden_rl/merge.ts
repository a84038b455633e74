import { z } from "zod";
import { LeydenError } from "../../core/errors.ts";
import { finalReward, type RawEvent, type RequestCall, usableCalls } from "../../rl/agent_lightning/events.ts";
import { type AgentLightningBatch, agentLightningRows, limitRow } from "../../rl/agent_lightning/rows.ts";
import { type LinearViewName, linearView } from "../../rl/views/linear_views.ts";
import { type GoldenKind, type GoldenRow, runGolden } from "./golden_file.ts";

const inputs = z.object({
  max_prompt_length: z.number(),
  max_response_length: z.number(),
  reward_fillna_value: z.number(),
  rollouts: z.array(
    z.object({
      rollout_id: z.string(),
      data_id: z.string(),
      step: z.number(),
      sample_idx: z.number(),
      events: z.array(z.object({ event_type: z.string(), data: z.unknown() })),
    }),
  ),
});
type Case = z.infer<typeof inputs>;
type CaseRollout = Case["rollouts"][number];

const callsOf = (rollout: CaseRollout): RequestCall[] => usableCalls(rollout.events as RawEvent[]);

/** The 8 upper bits of a float32's fraction, rounded half to even: what Agent Lightning 1.0 stores a reward as. */
function toBfloat16(value: number): number {
  const bits = new Uint32Array(Float32Array.of(value).buffer);
  const word = bits[0] as number;
  bits[0] = ((word + 0x7fff + ((word >>> 16) & 1)) >>> 16) << 16;
  return new Float32Array(bits.buffer)[0] as number;
}

function batchOf(input: Case, level: LinearViewName): AgentLightningBatch {
  const rollouts = input.rollouts.map((rollout) => ({
    id: rollout.rollout_id,
    group: rollout.data_id,
    step: rollout.step,
    index: rollout.sample_idx,
    reward: finalReward(rollout.events as RawEvent[]),
    calls: callsOf(rollout),
  }));
  const limits = { maxPromptLength: input.max_prompt_length, maxResponseLength: input.max_response_length };
  return agentLightningRows(rollouts, level, limits, input.reward_fillna_value);
}

/** `run`, with upstream's failure on an empty batch told as the golden tells it. */
function orError(run: () => unknown): unknown {
  try {
    return run();
  } catch (thrown) {
    if (thrown instanceof LeydenError && thrown.code === "no_training_rows") return { error: "zero training rows" };
    throw thrown;
  }
}

type Row = AgentLightningBatch["rows"][number];

const firstCall = (row: Row): number => row.rollout.calls.indexOf(row.firstCall);

function trajectoryRow(row: Row): Record<string, unknown> {
  return {
    rollout_id: row.rollout.id,
    data_id: row.rollout.group,
    first_call: firstCall(row),
    n_calls: row.calls,
    prompt: row.prompt,
    response: row.response,
    mask: row.mask,
    log_probs: row.logprobs,
    reward: row.reward,
    "reward_bf16_as_in_v1.0.0": toBfloat16(row.reward),
    score_position: row.scorePosition,
    score_on_masked_token: row.mask[row.scorePosition] === 0,
    is_drop: row.drop,
    truncated: row.truncated,
  };
}

function transitionRow(row: Row): Record<string, unknown> {
  return {
    rollout_id: row.rollout.id,
    first_call: firstCall(row),
    reward: row.reward,
    is_drop: row.drop,
    truncated: row.truncated,
    n_prompt: row.prompt.length,
    n_response: row.response.length,
    has_log_probs: row.logprobs !== null,
  };
}

function trajectory(input: Case): unknown {
  return orError(() => {
    const batch = batchOf(input, "trajectory");
    return {
      batch_logprobs_emitted: batch.logprobsEmitted,
      rows: batch.rows.map(trajectoryRow),
      n_truncated_sample: batch.truncatedSamples,
      n_unmerged_rollouts: batch.unmergedRollouts,
      n_mismatch_rows: batch.mismatchRows,
    };
  });
}

function transition(input: Case): unknown {
  return orError(() => {
    const batch = batchOf(input, "transition");
    return {
      batch_logprobs_emitted: batch.logprobsEmitted,
      rows: batch.rows.map(transitionRow),
      n_truncated_sample: batch.truncatedSamples,
    };
  });
}

/** Rows of a view without limits, in the golden's names. */
function plainRows(view: LinearViewName, calls: readonly RequestCall[]): Record<string, unknown>[] {
  const limits = { maxPromptLength: Number.POSITIVE_INFINITY, maxResponseLength: Number.POSITIVE_INFINITY };
  return linearView(view, calls).rows.flatMap((row) => {
    const found = limitRow(row, limits);
    if (found === null) return [];
    const { prompt, response, mask, logprobs, calls: merged } = found;
    return [{ prompt, response, mask, log_probs: logprobs, n_calls: merged }];
  });
}

/**
 * Facts of each rollout. "same as rows" stands where longest-prefix rows are as many as those of the trajectory view:
 * one case of the file has it although the longest context is another row's than the latest.
 */
function rolloutFacts(input: Case, expected: unknown): unknown {
  const facts = input.rollouts.map((rollout) => {
    const calls = callsOf(rollout);
    const reward = finalReward(rollout.events as RawEvent[]);
    const rows = plainRows("rows_best_prefix", calls);
    const trajectoryView = linearView("trajectory", calls);
    const told = (expected as Record<string, { rows_best_prefix?: unknown }>)[rollout.rollout_id]?.rows_best_prefix;
    const fact = {
      n_usable_calls: calls.length,
      reward,
      reward_used: reward ?? input.reward_fillna_value,
      n_mismatches: trajectoryView.mismatches,
      n_rows_best_prefix: rows.length,
      rows_best_prefix: typeof told === "string" && rows.length === trajectoryView.rows.length ? "same as rows" : rows,
    };
    return [rollout.rollout_id, fact] as const;
  });
  return Object.fromEntries(facts);
}

const kind: GoldenKind<Case> = {
  inputs,
  floor: 0.01,
  checks: { rollouts: rolloutFacts, trajectory, transition },
};

/** merge.json: events of the gateway as training rows of Agent Lightning's two levels and of the longest prefix. */
export function runMerge(json: unknown, file: string): GoldenRow[] {
  return runGolden(json, kind, file);
}
