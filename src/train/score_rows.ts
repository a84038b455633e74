import type { Decoder } from "../model/policy.ts";
import { ScorePlan, scoreColumns } from "../model/score_plan.ts";
import { type ValueHeadTensors, valueColumns } from "../ops/value_head.ts";
import type { TrainRow } from "../schema/engine.ts";
import { packRows } from "./micro_batches.ts";

/** What a model says of every record, row by row. */
export interface RowScores {
  /** Log-probability of its target, and entropy of the distribution it was taken from. */
  readonly logprobs: Float32Array;
  readonly entropies: Float32Array;
  /** The value of the state before its token, where it was asked for. */
  readonly values: Float32Array | null;
}

/** Scores the records of training rows by one model, as many rows at once as fit. */
export class RowScorer {
  private readonly model: Decoder;
  private readonly microBatchTokens: number;
  private readonly plan: ScorePlan;
  private readonly withValues: ScorePlan | null;

  /** `microBatchTokens`: most tokens computed at once, and so the longest row; `head`: what values states, if anything. */
  constructor(model: Decoder, microBatchTokens: number, head: ValueHeadTensors | null = null) {
    this.model = model;
    this.microBatchTokens = microBatchTokens;
    this.plan = new ScorePlan(model, microBatchTokens);
    this.withValues = head && new ScorePlan(model, microBatchTokens, head);
  }

  /** Logits are divided by `temperature`; with `values`, the head is asked in the same pass. @throws LeydenError as packRows */
  async score(
    rows: readonly TrainRow[],
    temperature: number,
    { values = false }: { readonly values?: boolean } = {},
  ): Promise<RowScores> {
    const { vocabSize, contextLength } = this.model.description;
    const { microBatchTokens } = this;
    const plan = (values ? this.withValues : null) ?? this.plan;
    const offsets = recordOffsets(rows);
    const total = offsets.at(-1) as number;
    const out = { logprobs: new Float32Array(total), entropies: new Float32Array(total) };
    const valued = plan === this.plan ? null : new Float32Array(total);
    for (const batch of packRows(rows, { vocabSize, contextLength, microBatchTokens })) {
      const got = await plan.run(batch, batch, temperature);
      for (const { row, firstRecord } of batch.rows) {
        const to = offsets[row] as number;
        for (let r = 0; r < (rows[row] as TrainRow).src.length; r++) {
          const at = scoreColumns.width * (firstRecord + r);
          out.logprobs[to + r] = got.stats[at + scoreColumns.logprob] as number;
          out.entropies[to + r] = got.stats[at + scoreColumns.entropy] as number;
          if (valued !== null) valued[to + r] = got.values?.[valueColumns.width * (firstRecord + r)] as number;
        }
      }
    }
    return { ...out, values: valued };
  }

  dispose(): void {
    this.plan.dispose();
    this.withValues?.dispose();
  }
}

/** Index of each row's first record among all, and their number at the end. */
export function recordOffsets(rows: readonly Pick<TrainRow, "src">[]): number[] {
  const offsets = [0];
  for (const { src } of rows) offsets.push((offsets.at(-1) as number) + src.length);
  return offsets;
}
