import type { Batch, GroupRecord } from "./batch_input.ts";

/**
 * Classes of records by what their recorded log-probability may be compared with: "own" was drawn under the trained
 * weights alone; "constrained" from a truncated or constrained distribution; "mixed" under other weights, in part at
 * least.
 */
export const agreementKinds = ["own", "mixed", "constrained"] as const;

/** A class of `agreementKinds`. */
export type AgreementKind = (typeof agreementKinds)[number];

/** Of one class: its records, and the largest and mean |trainer's - recorded log-probability|. */
export interface LogprobAgreement {
  records: number;
  max: number;
  mean: number;
}

/** Class of every call when `version` is trained. */
function kindsOf(groups: readonly GroupRecord[], version: number): Map<string, AgreementKind> {
  const kinds = new Map<string, AgreementKind>();
  for (const { id, versions, constrained } of groups.flatMap((g) => g.rollouts.flatMap((r) => r.calls))) {
    const own = versions !== null && Array.prototype.every.call(versions, (v: number) => v === version);
    kinds.set(id, constrained === true ? "constrained" : own ? "own" : "mixed");
  }
  return kinds;
}

/**
 * How far the log-probabilities that a step computed (record by record over the batch's rows) are from those recorded
 * when the tokens were drawn. A NaN shows as NaN.
 */
export function logprobAgreement(
  { rows, origins }: Pick<Batch, "rows" | "origins">,
  logprobs: ArrayLike<number>,
  version: number,
  groups: readonly GroupRecord[],
): Record<AgreementKind, LogprobAgreement> {
  const kinds = kindsOf(groups, version);
  const found = { own: none(), mixed: none(), constrained: none() };
  let at = 0;
  for (const [i, row] of rows.entries()) {
    const origin = origins[i];
    for (let r = 0; r < row.src.length; r++, at++) {
      const call = origin?.calls[origin.call[r] as number]?.call ?? "";
      const difference = Math.abs((logprobs[at] as number) - (row.oldLogprob[r] as number));
      const one = found[kinds.get(call) ?? "mixed"];
      one.records++;
      one.max = Math.max(one.max, difference);
      one.mean += (difference - one.mean) / one.records;
    }
  }
  return found;
}

function none(): LogprobAgreement {
  return { records: 0, max: 0, mean: 0 };
}

/** The agreement under the names of metrics.jsonl. */
export function agreementMetrics(found: Readonly<Record<AgreementKind, LogprobAgreement>>): Record<string, number> {
  const { own, mixed, constrained } = found;
  return {
    "training/logprob_diff_max": own.max,
    "training/logprob_diff_mean": own.mean,
    "training/logprob_diff_n": own.records,
    "training/logprob_diff_max_mixed": mixed.max,
    "training/logprob_diff_mean_mixed": mixed.mean,
    "training/logprob_diff_n_mixed": mixed.records,
    "training/logprob_diff_max_constrained": constrained.max,
    "training/logprob_diff_mean_constrained": constrained.mean,
    "training/logprob_diff_n_constrained": constrained.records,
  };
}
