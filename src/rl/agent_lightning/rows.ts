import { LeydenError } from "../../core/errors.ts";
import { type Call, hasLogprobs } from "../call.ts";
import type { LinearRow } from "../views/linear_row.ts";
import { type LinearViewName, linearView } from "../views/linear_views.ts";

/** Lengths in tokens that rows are cut to. */
export interface RowLimits {
  maxPromptLength: number;
  maxResponseLength: number;
}

/** A row cut to the limits. */
export interface LimitedRow {
  prompt: number[];
  response: number[];
  mask: number[];
  /** Aligned with the response, 0 on observations; null when any call of the row lacks them. */
  logprobs: number[] | null;
  /** Number of calls merged into the row, cut ones included. */
  calls: number;
  firstCall: Call;
  /** The prompt did not fit: the row is removed before training. */
  drop: boolean;
  /** The response did not fit and lost its end. */
  truncated: boolean;
  /** Index in the response that carries the reward. */
  scorePosition: number;
}

/**
 * Log-probabilities of the whole row, 0 on observations. A later call must have one per token; the first call's number
 * only shows in the total, which is compared after cutting.
 */
function rawLogprobs(row: LinearRow): number[] | null {
  const out: number[] = [];
  let end = 0;
  for (const [i, { call, start }] of row.calls.entries()) {
    if (call.logprobs === null || (i > 0 && !hasLogprobs(call))) return null;
    for (let t = end; t < start; t++) out.push(0);
    for (let t = 0; t < call.logprobs.length; t++) out.push(call.logprobs[t] as number);
    end = start + call.replyIds.length;
  }
  return out;
}

/**
 * A row as Agent Lightning emits it: prompt cut to its first tokens and marked for dropping, response cut on the right
 * with mask and log-probabilities, and null log-probabilities where the lengths then differ.
 * @returns null when no sampled token is left.  Source: Agent Lightning 1.0, emitting a row.
 */
export function limitRow(row: LinearRow, limits: RowLimits): LimitedRow | null {
  const response = row.response.slice(0, limits.maxResponseLength);
  const mask = row.mask.slice(0, limits.maxResponseLength);
  if (!mask.includes(1)) return null;
  const raw = rawLogprobs(row);
  const cut = row.response.length > limits.maxResponseLength ? raw?.slice(0, limits.maxResponseLength) : raw;
  return {
    prompt: Array.from(row.prompt).slice(0, limits.maxPromptLength),
    response,
    mask,
    logprobs: cut != null && cut.length === response.length ? cut : null,
    calls: row.calls.length,
    firstCall: (row.calls[0] as LinearRow["calls"][number]).call,
    drop: row.prompt.length > limits.maxPromptLength,
    truncated: row.response.length > limits.maxResponseLength,
    scorePosition: response.length - 1,
  };
}

/** A finished rollout with its usable calls in arrival order. */
export interface FinishedRollout {
  id: string;
  group: string;
  /** Step and index in that step: rows are ordered by them. */
  step: number;
  index: number;
  /** null when none was posted. */
  reward: number | null;
  calls: readonly Call[];
}

/** Rows of a batch with Agent Lightning's counters. */
export interface AgentLightningBatch {
  rows: (LimitedRow & { rollout: FinishedRollout; reward: number })[];
  /** False when any row lacks log-probabilities: then the whole batch goes without. */
  logprobsEmitted: boolean;
  truncatedSamples: number;
  skippedEmptyRows: number;
  unmergedRollouts: number;
  /** At most 100 are kept. */
  mismatchRows: number;
}

const maxMismatches = 100;

/**
 * Agent Lightning's training rows: rollouts in order of (step, index), each row with its rollout's reward or
 * `rewardFill`.
 * @throws LeydenError "no_training_rows" when nothing is left.  Source: Agent Lightning 1.0, sample building.
 */
export function agentLightningRows(
  rollouts: readonly FinishedRollout[],
  level: LinearViewName,
  limits: RowLimits,
  rewardFill: number,
): AgentLightningBatch {
  const batch: AgentLightningBatch = {
    rows: [],
    logprobsEmitted: true,
    truncatedSamples: 0,
    skippedEmptyRows: 0,
    unmergedRollouts: 0,
    mismatchRows: 0,
  };
  const sorted = [...rollouts].sort((a, b) => a.step - b.step || a.index - b.index);
  for (const rollout of sorted) {
    const view = linearView(level, rollout.calls);
    if (level !== "transition" && view.rows.length > 1) batch.unmergedRollouts++;
    batch.mismatchRows = Math.min(maxMismatches, batch.mismatchRows + view.mismatches);
    for (const row of view.rows) {
      const limited = limitRow(row, limits);
      if (limited === null) batch.skippedEmptyRows++;
      else batch.rows.push({ ...limited, rollout, reward: rollout.reward ?? rewardFill });
    }
  }
  if (batch.rows.length === 0) {
    throw new LeydenError("no_training_rows", `None of ${rollouts.length} rollouts gave a training row.`, {
      do: "Check that the agents reach the gateway and that their calls are answered.",
    });
  }
  batch.truncatedSamples = batch.rows.filter((row) => row.truncated).length;
  batch.logprobsEmitted = batch.rows.every((row) => row.logprobs !== null);
  return batch;
}
