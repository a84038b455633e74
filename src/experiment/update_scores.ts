import type { PreparedBatch } from "../rl/batch/prepare_batch.ts";
import type { RecordScores } from "../rl/batch/token_terms.ts";
import type { Engine } from "../schema/engine.ts";
import type { ScoreRowsResult } from "../schema/row_scores.ts";
import type { Objective } from "./objective.ts";

/** What scores are, with the times they took; null where no model was asked. */
export type TimedScores = RecordScores & { readonly ms: ScoreRowsResult["ms"] | null };

/** Asks the models that a batch needs of its rows, and none for a batch without rows. */
export async function scoresOf(
  engine: Engine,
  id: string,
  prepared: PreparedBatch,
  { loss: { temperature }, adapter }: Pick<Objective, "loss" | "adapter">,
): Promise<TimedScores> {
  const { policy, reference, values } = prepared.needs;
  if (prepared.rows.length === 0) {
    const none = new Float32Array(0);
    return { logprobs: none, refLogprobs: none, values: none, ms: null };
  }
  if (!policy && !reference && !values) return { logprobs: null, refLogprobs: null, values: null, ms: null };
  return engine.scoreRows({
    id: `${id}-scores`,
    rows: [...prepared.rows],
    temperature,
    policy,
    reference,
    values,
    ...(adapter === undefined ? {} : { adapter }),
  });
}

/** What was asked group by group, in the order of the rows of a batch of all groups. */
export function scoresTogether(
  whole: PreparedBatch,
  parts: readonly { readonly group: string; readonly scores: TimedScores }[],
): TimedScores {
  const byGroup = new Map(parts.map(({ group, scores }) => [group, scores]));
  const inOrder = [...new Set(whole.origins.map(({ group }) => group))].flatMap((group) => byGroup.get(group) ?? []);
  const all = (scores: (part: TimedScores) => Float32Array | null, isNeeded: boolean): Float32Array | null =>
    isNeeded ? concatenated(inOrder.flatMap((part) => scores(part) ?? [])) : null;
  return {
    logprobs: all((part) => part.logprobs, whole.needs.policy),
    refLogprobs: all((part) => part.refLogprobs, whole.needs.reference),
    values: all((part) => part.values, whole.needs.values),
    ms: timesTogether(inOrder.flatMap(({ ms }) => ms ?? [])),
  };
}

function timesTogether(times: readonly ScoreRowsResult["ms"][]): ScoreRowsResult["ms"] | null {
  if (times.length === 0) return null;
  const sum = (of: keyof ScoreRowsResult["ms"]): number | null => {
    const known = times.flatMap((one) => one[of] ?? []);
    return known.length === 0 ? null : known.reduce((a, b) => a + b);
  };
  return { policy: sum("policy"), reference: sum("reference"), values: sum("values") };
}

/** Arrays one after another. */
export function concatenated(parts: readonly Float32Array[]): Float32Array {
  const out = new Float32Array(parts.reduce((n, part) => n + part.length, 0));
  let at = 0;
  for (const part of parts) {
    out.set(part, at);
    at += part.length;
  }
  return out;
}
