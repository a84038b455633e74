import { valueColumns } from "../ops/value_head.ts";

/** Numbers of a step's value loss over its records. */
export interface ValueStatistics {
  /** Sum of weight * value loss. */
  readonly loss: number;
  /** Share of the records with weight whose loss was clipped. */
  readonly clipFrac: number;
  /** Records with weight. */
  readonly active: number;
}

/** Sums the value head's statistics (R,4) of a step's records in float64. */
export class ValueSums {
  private loss = 0;
  private clipped = 0;
  private active = 0;

  /** Adds one micro-batch's records; those of weight 0 do not count. */
  add(weight: Float32Array, stats: Float32Array): void {
    for (const [r, w] of weight.entries()) {
      if (w === 0) continue;
      this.active++;
      this.loss += stats[valueColumns.width * r + valueColumns.loss] as number;
      this.clipped += stats[valueColumns.width * r + valueColumns.clipped] as number;
    }
  }

  /** `factor` undoes what the weights were multiplied by. */
  result(factor = 1): ValueStatistics {
    const { active, loss, clipped } = this;
    return { loss: loss * factor, clipFrac: active === 0 ? 0 : clipped / active, active };
  }
}
