import { LeydenError } from "../core/errors.ts";
import type { Plan } from "../gpu/plan.ts";
import { PlanBuilder } from "../gpu/plan_builder.ts";
import { attentionBlocks } from "../ops/attention/blocks.ts";
import { scoreHead } from "../ops/loss_head.ts";
import { lossValues } from "../ops/loss_settings.ts";
import type { ScoreResult } from "../schema/engine.ts";
import { recordDecoder, recordPackedInputs } from "./forward.ts";
import { packSequences } from "./forward_outputs.ts";
import { lossHeadChunkBytes } from "./memory_plan.ts";
import type { Model } from "./model.ts";
import { type PlanSizes, SizedPlan } from "./sized_plan.ts";

/** Columns of the head's statistics. */
const statWidth = 8;
const statEntropy = 1;

/** Log-probabilities of given tokens by the trainer's own forward pass, several sequences packed into one. */
export class Scorer {
  private readonly model: Model;
  private readonly maxTokens: number;
  private readonly plan: SizedPlan;

  /** `maxTokens`: most tokens computed at once, and so the longest sequence. */
  constructor(model: Model, maxTokens: number) {
    this.model = model;
    this.maxTokens = maxTokens;
    this.plan = new SizedPlan((sizes) => this.build(sizes), maxTokens);
  }

  /**
   * Scores one sequence: logprobs[t] and entropies[t] belong to ids[t] given those before it; both are 0 at t = 0.
   * @throws LeydenError "context_length_exceeded", "token_out_of_range"
   */
  async score(ids: Int32Array, temperature: number): Promise<ScoreResult> {
    const [result] = await this.scoreAll([ids], temperature);
    return result as ScoreResult;
  }

  /** Scores many sequences, as many at once as fit. @throws LeydenError as `score` */
  async scoreAll(sequences: readonly Int32Array[], temperature: number): Promise<ScoreResult[]> {
    for (const ids of sequences) this.check(ids);
    const results: ScoreResult[] = [];
    let pack: Int32Array[] = [];
    let tokens = 0;
    for (const ids of sequences) {
      if (tokens + ids.length > this.maxTokens) {
        results.push(...(await this.scorePack(pack, temperature)));
        pack = [];
        tokens = 0;
      }
      pack.push(ids);
      tokens += ids.length;
    }
    return [...results, ...(await this.scorePack(pack, temperature))];
  }

  dispose(): void {
    this.plan.dispose();
  }

  private async scorePack(sequences: readonly Int32Array[], temperature: number): Promise<ScoreResult[]> {
    const { ids, pos, end } = packSequences(sequences);
    const src = Uint32Array.from(ids.keys()).filter((t) => t + 1 < (end[t] as number));
    if (src.length === 0) return sequences.map((s) => emptyScore(s.length));
    const target = src.map((t) => ids[t + 1] as number);
    const plan = await this.plan.of({ tokens: ids.length, records: src.length });
    const values = { T: ids.length, R: src.length, ...lossValues({ ...unusedLoss, temperature }) };
    const { stats } = await plan.run(values, { ids, pos, end, blockEnd: attentionBlocks(end), src, target });
    let record = 0;
    return sequences.map(({ length }) => {
      const result = emptyScore(length);
      for (let t = 1; t < length; t++, record++) {
        result.logprobs[t] = stats?.[statWidth * record] as number;
        result.entropies[t] = stats?.[statWidth * record + statEntropy] as number;
      }
      return result;
    });
  }

  private build({ tokens, records }: PlanSizes): Promise<Plan> {
    const plan = new PlanBuilder(this.model.device, "score");
    const packed = recordPackedInputs(plan, plan.dim("T", tokens));
    const R = plan.dim("R", records);
    const { hidden } = recordDecoder(plan, this.model, packed);
    const zeros = plan.input("zeros", [R]);
    const stats = scoreHead(
      plan,
      {
        h: hidden,
        w: this.model.weights.head,
        src: plan.input("src", [R], "u32"),
        target: plan.input("target", [R], "u32"),
        ...{ weight: zeros, advantage: zeros, oldLogprob: zeros, refLogprob: zeros },
      },
      { chunkBytes: lossHeadChunkBytes },
    );
    plan.output("stats", stats);
    return plan.build();
  }

  private check(ids: Int32Array): void {
    const { contextLength, vocabSize } = this.model.description;
    const most = Math.min(contextLength, this.maxTokens);
    if (ids.length > most) {
      throw new LeydenError(
        "context_length_exceeded",
        `A text of ${ids.length} tokens cannot be scored; ${most} fit.`,
        {
          do: "Score it in parts.",
          data: { tokens: ids.length, contextLength: most },
        },
      );
    }
    const bad = ids.find((id) => id < 0 || id >= vocabSize);
    if (bad === undefined) return;
    throw new LeydenError("token_out_of_range", `Token id ${bad} is outside 0..${vocabSize - 1}.`, {
      do: "Encode with the tokenizer of this model.",
    });
  }
}

const unusedLoss = {
  kind: "cross_entropy",
  clipLow: 0,
  clipHigh: 0,
  dualClip: 0,
  klCoef: 0,
  klKind: "k3",
  entropyCoef: 0,
} as const;

function emptyScore(length: number): ScoreResult {
  return { logprobs: new Float32Array(length), entropies: new Float32Array(length) };
}
