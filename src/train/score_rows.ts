import type { Decoder } from "../model/policy.ts";
import { ScorePlan, scoreColumns } from "../model/score_plan.ts";
import type { TrainRow } from "../schema/engine.ts";
import { packRows } from "./micro_batches.ts";

/** Log-probability of every record's target, and entropy of the distribution it was taken from; row by row. */
export interface RowScores {
  readonly logprobs: Float32Array;
  readonly entropies: Float32Array;
}

/** Scores the records of training rows by one model, as many rows at once as fit. */
export class RowScorer {
  private readonly model: Decoder;
  private readonly microBatchTokens: number;
  private readonly plan: ScorePlan;

  /** `microBatchTokens`: most tokens computed at once, and so the longest row. */
  constructor(model: Decoder, microBatchTokens: number) {
    this.model = model;
    this.microBatchTokens = microBatchTokens;
    this.plan = new ScorePlan(model, microBatchTokens);
  }

  /** Logits are divided by `temperature`. @throws LeydenError as packRows */
  async score(rows: readonly TrainRow[], temperature: number): Promise<RowScores> {
    const { vocabSize, contextLength } = this.model.description;
    const { microBatchTokens } = this;
    const offsets = recordOffsets(rows);
    const total = offsets.at(-1) as number;
    const out = { logprobs: new Float32Array(total), entropies: new Float32Array(total) };
    for (const batch of packRows(rows, { vocabSize, contextLength, microBatchTokens })) {
      const stats = await this.plan.run(batch, batch, temperature);
      for (const { row, firstRecord } of batch.rows) {
        const to = offsets[row] as number;
        for (let r = 0; r < (rows[row] as TrainRow).src.length; r++) {
          const at = scoreColumns.width * (firstRecord + r);
          out.logprobs[to + r] = stats[at + scoreColumns.logprob] as number;
          out.entropies[to + r] = stats[at + scoreColumns.entropy] as number;
        }
      }
    }
    return out;
  }

  dispose(): void {
    this.plan.dispose();
  }
}

/** Index of each row's first record among all, and their number at the end. */
export function recordOffsets(rows: readonly Pick<TrainRow, "src">[]): number[] {
  const offsets = [0];
  for (const { src } of rows) offsets.push((offsets.at(-1) as number) + src.length);
  return offsets;
}
