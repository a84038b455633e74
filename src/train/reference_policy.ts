import type { Decoder } from "../model/policy.ts";
import type { TrainRow } from "../schema/engine.ts";
import type { LossConfig } from "../schema/loss.ts";
import { RowScorer, recordOffsets } from "./score_rows.ts";

/** The frozen policy that a KL term is measured against. */
export class ReferencePolicy {
  readonly model: Decoder;
  private readonly scorer: RowScorer;

  /** `model` is never changed; `microBatchTokens`: most tokens computed at once. */
  constructor(model: Decoder, microBatchTokens: number) {
    this.model = model;
    this.scorer = new RowScorer(model, microBatchTokens);
  }

  /**
   * The rows with refLogprob of every record, log pi_ref of its target at the loss's temperature; rows that have it
   * stay as they are. @throws LeydenError as packRows
   */
  async fill(rows: readonly TrainRow[], { temperature }: Pick<LossConfig, "temperature">): Promise<TrainRow[]> {
    const asked = rows.filter((row) => row.refLogprob === undefined);
    const logprobs = await this.logprobs(asked, temperature);
    const offsets = recordOffsets(asked);
    const filled = new Map(
      asked.map((row, i) => [row, { ...row, refLogprob: logprobs.slice(offsets[i], offsets[i + 1]) }]),
    );
    return rows.map((row) => filled.get(row) ?? row);
  }

  /** log pi_ref of every record's target, row by row. @throws LeydenError as packRows */
  async logprobs(rows: readonly TrainRow[], temperature: number): Promise<Float32Array> {
    return (await this.scorer.score(rows, temperature)).logprobs;
  }

  dispose(): void {
    this.scorer.dispose();
  }
}
