import { PlanBuilder } from "../gpu/plan_builder.ts";
import { attentionBlocks } from "../ops/attention/blocks.ts";
import { scoreHead } from "../ops/loss_head.ts";
import { lossValues } from "../ops/loss_settings.ts";
import { type ValueHeadTensors, valueHead } from "../ops/value_head.ts";
import { recordDecoder, recordPackedInputs } from "./forward.ts";
import type { PackedTokens } from "./forward_outputs.ts";
import { lossHeadChunkBytes } from "./memory_budget.ts";
import type { Decoder } from "./policy.ts";
import { type PlanSizes, SizedPlan } from "./sized_plan.ts";

/** Columns of a record's statistics (R,8) that scoring fills. */
export const scoreColumns = { width: 8, logprob: 0, entropy: 1 } as const;

/** Prediction records: hidden row that predicts, and the token predicted. */
export interface ScoredRecords {
  readonly src: Uint32Array;
  readonly target: Uint32Array;
}

/** What a pass says of its records: statistics (R,8), and those of a value head (R,4) where it has one. */
export interface ScoreStatistics {
  readonly stats: Float32Array;
  readonly values: Float32Array | null;
}

/** The trainer's forward pass without a loss: statistics of prediction records over packed tokens. */
export class ScorePlan {
  private readonly model: Decoder;
  private readonly head: ValueHeadTensors | null;
  private readonly plan: SizedPlan;

  /** `maxTokens`: most tokens of one run; `head`: values the hidden states in the same pass. */
  constructor(model: Decoder, maxTokens: number, head: ValueHeadTensors | null = null) {
    this.model = model;
    this.head = head;
    this.plan = new SizedPlan((sizes) => this.record(sizes).build(), maxTokens);
  }

  /** Statistics of the records; logits are divided by `temperature`. */
  async run(
    { ids, pos, end }: PackedTokens,
    { src, target }: ScoredRecords,
    temperature: number,
  ): Promise<ScoreStatistics> {
    const plan = await this.plan.of({ tokens: ids.length, records: src.length });
    const loss = lossValues({ ...noLoss, temperature });
    const values = { T: ids.length, R: src.length, ...loss, "value.clip_range": 0 };
    const read = await plan.run(values, { ids, pos, end, blockEnd: attentionBlocks(end), src, target });
    return { stats: read.stats as Float32Array, values: (read.values as Float32Array | undefined) ?? null };
  }

  dispose(): void {
    this.plan.dispose();
  }

  /** Bytes of the plan for work of these sizes, on a counting device. */
  measure(sizes: PlanSizes): number {
    return this.record(sizes).measure();
  }

  private record({ tokens, records }: PlanSizes): PlanBuilder {
    const plan = new PlanBuilder(this.model.device, "score");
    const R = plan.dim("R", records);
    const { hidden } = recordDecoder(plan, this.model, recordPackedInputs(plan, plan.dim("T", tokens)));
    const zeros = plan.input("zeros", [R]);
    const src = plan.input("src", [R], "u32");
    const inputs = {
      ...{ h: hidden, w: this.model.weights.head },
      ...{ src, target: plan.input("target", [R], "u32") },
      ...{ weight: zeros, advantage: zeros, oldLogprob: zeros, refLogprob: zeros },
    };
    if (this.head !== null) {
      const unlearned = { weight: zeros, oldValue: zeros, returns: zeros };
      plan.output("values", valueHead(plan, { h: hidden, ...this.head, src, ...unlearned }));
    }
    plan.output("stats", scoreHead(plan, inputs, { chunkBytes: lossHeadChunkBytes }));
    return plan;
  }
}

const noLoss = {
  kind: "cross_entropy",
  clipLow: 0,
  clipHigh: 0,
  dualClip: 0,
  klCoef: 0,
  klKind: "k3",
  entropyCoef: 0,
} as const;
