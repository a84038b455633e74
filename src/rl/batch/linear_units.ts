import type { TrainRow } from "../../schema/engine.ts";
import { lastOfEachPrompt } from "../agent_lightning/events.ts";
import { type LimitedRow, limitRow } from "../agent_lightning/rows.ts";
import type { LinearRow } from "../views/linear_row.ts";
import { type LinearViewName, linearView } from "../views/linear_views.ts";
import type { BatchOptions, CallRecord, RowOrigin } from "./batch_input.ts";
import type { SelectedRollout } from "./select.ts";
import type { Layout, UnitTerms } from "./units.ts";

/** A row of the step with whose it is. */
interface StepRow {
  source: LinearRow;
  limited: LimitedRow;
  rollout: SelectedRollout;
}

/** Sampled tokens of a call that are left in the cut row, as [first index in the response, number]. */
function leftOf(row: StepRow, call: LinearRow["calls"][number]): [number, number] {
  const left = Math.min(call.call.replyIds.length, row.limited.response.length - call.start);
  return [call.start, Math.max(0, left)];
}

/** The records of one linear row: src = t, target = ids[t + 1] on sampled tokens only. */
function trainRow(row: StepRow, unit: number, terms: UnitTerms): { row: TrainRow; origin: RowOrigin } {
  const { prompt, response } = row.limited;
  const count = row.source.calls.reduce((n, call) => n + leftOf(row, call)[1], 0);
  const out: TrainRow = {
    ids: Int32Array.from([...prompt, ...response]),
    src: new Int32Array(count),
    target: new Int32Array(count),
    weight: new Float32Array(count).fill(terms.weight),
    advantage: new Float32Array(count).fill(terms.advantage),
    oldLogprob: new Float32Array(count),
  };
  const origin: RowOrigin = {
    group: row.rollout.group,
    calls: row.source.calls.map(({ call }) => ({ rollout: row.rollout.id, call: call.id, unit })),
    call: new Int32Array(count),
    token: new Int32Array(count),
  };
  let r = 0;
  row.source.calls.forEach((placed, index) => {
    const [start, left] = leftOf(row, placed);
    for (let k = 0; k < left; k++, r++) {
      out.src[r] = prompt.length + start + k - 1;
      out.target[r] = placed.call.replyIds[k] as number;
      out.oldLogprob[r] = placed.call.logprobs?.[k] as number;
      origin.call[r] = index;
      origin.token[r] = k;
    }
  });
  return { row: out, origin };
}

/**
 * Lays rollouts out as linear rows. Of calls with one prompt the last is kept, as Agent Lightning does, the others are
 * counted: the last to arrive in its own views; in the longest-prefix view, which knows no arrival, the last draw.
 */
export function linearLayout(
  rollouts: readonly SelectedRollout[],
  options: BatchOptions & { view: LinearViewName },
): Layout {
  const counts: Record<string, number> = {
    "training/n_calls_folded": 0,
    "training/n_unmerged_rollouts": 0,
    "training/n_trace_merge_mismatch_rows": 0,
    "training/n_sample_dropped/marked": 0,
    "training/n_truncated_sample": 0,
  };
  const add = (name: string, n: number): void => {
    counts[name] = (counts[name] ?? 0) + n;
  };
  const rows: StepRow[] = [];
  for (const rollout of rollouts) {
    const calls = lastOfEachPrompt(rollout.calls);
    add("training/n_calls_folded", rollout.calls.length - calls.length);
    const view = linearView(options.view, calls);
    if (options.view !== "transition" && view.rows.length > 1) add("training/n_unmerged_rollouts", 1);
    add("training/n_trace_merge_mismatch_rows", view.mismatches);
    for (const source of view.rows) {
      const limited = limitRow(source, options.limits);
      if (limited === null || limited.drop) add("training/n_sample_dropped/marked", 1);
      else {
        add("training/n_truncated_sample", limited.truncated ? 1 : 0);
        rows.push({ source, limited, rollout });
      }
    }
  }
  return {
    units: rows.map(({ limited, rollout }) => ({
      rollout: rollout.id,
      group: rollout.group,
      tokens: limited.mask.reduce((n, m) => n + m, 0),
    })),
    calls: rows.map((row) =>
      row.source.calls.map((placed) => ({ call: placed.call as CallRecord, tokens: leftOf(row, placed)[1] })),
    ),
    counts,
    build(terms) {
      const built = rows.flatMap((row, i) => {
        const unit = terms[i] as UnitTerms;
        return unit.trained ? [trainRow(row, i, unit)] : [];
      });
      return { rows: built.map((b) => b.row), origins: built.map((b) => b.origin), counts: {} };
    },
  };
}
