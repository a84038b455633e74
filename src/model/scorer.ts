import { LeydenError } from "../core/errors.ts";
import type { ScoreResult } from "../schema/engine.ts";
import { packSequences } from "./forward_outputs.ts";
import type { Decoder } from "./policy.ts";
import { ScorePlan, scoreColumns } from "./score_plan.ts";

/** Log-probabilities of given tokens by the trainer's own forward pass, several sequences packed into one. */
export class Scorer {
  private readonly model: Decoder;
  private readonly maxTokens: number;
  private readonly plan: ScorePlan;

  /** `maxTokens`: most tokens computed at once, and so the longest sequence. */
  constructor(model: Decoder, maxTokens: number) {
    this.model = model;
    this.maxTokens = maxTokens;
    this.plan = new ScorePlan(model, maxTokens);
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
    const tokens = packSequences(sequences);
    const { ids, end } = tokens;
    const src = Uint32Array.from(ids.keys()).filter((t) => t + 1 < (end[t] as number));
    if (src.length === 0) return sequences.map((s) => emptyScore(s.length));
    const target = src.map((t) => ids[t + 1] as number);
    const { stats } = await this.plan.run(tokens, { src, target }, temperature);
    let record = 0;
    return sequences.map(({ length }) => {
      const result = emptyScore(length);
      for (let t = 1; t < length; t++, record++) {
        result.logprobs[t] = stats[scoreColumns.width * record + scoreColumns.logprob] as number;
        result.entropies[t] = stats[scoreColumns.width * record + scoreColumns.entropy] as number;
      }
      return result;
    });
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

function emptyScore(length: number): ScoreResult {
  return { logprobs: new Float32Array(length), entropies: new Float32Array(length) };
}
