/** Numbers of a step: means over records with weight, whatever the others hold. */
import { describe, expect, it } from "vitest";
import type { LossConfig } from "../../src/schema/loss.ts";
import { packRows } from "../../src/train/micro_batches.ts";
import { StepStatistics, statColumns } from "../../src/train/step_statistics.ts";

const ppo: LossConfig = {
  ...{ kind: "ppo", temperature: 1, clipLow: 0.2, clipHigh: 0.2, dualClip: 3, klCoef: 0, klKind: "k3" },
  entropyCoef: 0,
};

/** One row of four records, the second and last without weight. */
function batch() {
  const row = {
    ids: Int32Array.of(1, 2, 3, 4, 5),
    src: Int32Array.of(0, 1, 2, 3),
    target: Int32Array.of(2, 3, 4, 5),
    weight: Float32Array.of(0.5, 0, 0.5, 0),
    advantage: new Float32Array(4),
    oldLogprob: Float32Array.of(-1, Number.NaN, -2, 1e30),
  };
  const [packed] = packRows([row], { vocabSize: 10, contextLength: 8, microBatchTokens: 8 });
  return packed as NonNullable<typeof packed>;
}

function stats(records: readonly { logprob: number; entropy: number; loss: number; clipped: number }[]): Float32Array {
  const out = new Float32Array(statColumns.width * records.length);
  for (const [r, { logprob, entropy, loss, clipped }] of records.entries()) {
    const at = statColumns.width * r;
    out[at + statColumns.logprob] = logprob;
    out[at + statColumns.entropy] = entropy;
    out[at + statColumns.loss] = loss;
    out[at + statColumns.clipped] = clipped;
  }
  return out;
}

const spoiled = { logprob: Number.NaN, entropy: -1e30, loss: Number.NaN, clipped: 1 };

describe("statistics of a step", () => {
  it("entropy is of sampled tokens alone: a masked one's sentinel does not make it negative (TRL 6121)", () => {
    const sums = new StepStatistics(ppo);
    const first = { logprob: -1, entropy: 0.4, loss: 0.25, clipped: 0 };
    sums.add(batch(), stats([first, spoiled, { ...first, logprob: -2.5, entropy: 0.2, clipped: 1 }, spoiled]));
    const result = sums.result();
    expect(result.entropy).toBeCloseTo(0.3, 6);
    expect(result).toMatchObject({ loss: 0.5, clipFrac: 0.5, tokens: 4, computedTokens: 5 });
    expect(result.approxKl).toBeCloseTo(0.25, 6);
    expect(result.logprobDiffMax).toBeCloseTo(0.5, 6);
  });

  it("the policy's loss is what is left without the KL and the entropy bonus", () => {
    const record = { logprob: -1, entropy: 0.5, loss: 2, clipped: 0 };
    const both = stats([record, spoiled, record, spoiled]);
    for (const r of [0, 2]) both[statColumns.width * r + statColumns.kl] = 4;
    const sums = new StepStatistics({ ...ppo, klCoef: 0.25, entropyCoef: 0.5 });
    sums.add(batch(), both);
    // Each record: 2 - 0.5 (0.25 * 4 - 0.5 * 0.5).
    expect(sums.result()).toMatchObject({ loss: 4, pgLoss: 3.25, kl: 4 });
    const alone = new StepStatistics(ppo);
    // Of a term that is off nothing is read.
    for (const r of [0, 2]) both[statColumns.width * r + statColumns.kl] = Number.NaN;
    alone.add(batch(), both);
    expect(alone.result()).toMatchObject({ loss: 4, pgLoss: 4 });
  });

  it("without a record of weight everything is 0", () => {
    const sums = new StepStatistics(ppo);
    sums.add({ ...batch(), weight: new Float32Array(4) }, stats([spoiled, spoiled, spoiled, spoiled]));
    expect(sums.result()).toMatchObject({
      loss: 0,
      pgLoss: 0,
      entropy: 0,
      clipFrac: 0,
      approxKl: 0,
      logprobDiffMax: 0,
    });
  });
});
