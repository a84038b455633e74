/** Losses with one ratio per sequence: the same gradients whether micro-batches hold its rows together or apart. */
import { describe, expect, it } from "#test";
import { Rng, seedKey } from "../../src/core/rng.ts";
import type { TrainRow } from "../../src/schema/engine.ts";
import type { LossConfig } from "../../src/schema/loss.ts";
import { llamaConfig } from "../model/configs.ts";
import { allGradients, open, ppo, randomRows, relativeDistance } from "./training_rows.ts";

const rng = new Rng(seedKey(5));

/** Rows of three sequences in turns, as the calls of three rollouts are, with one advantage each. */
const rows: TrainRow[] = randomRows(7, 31, rng).map((row, i) => ({
  ...row,
  unit: new Int32Array(row.src.length).fill(i % 3),
  advantage: new Float32Array(row.src.length).fill([1, -0.5, 0.25][i % 3] as number),
  weight: row.weight.map((w, r) => (i === 2 && r === 0 ? 0 : w)),
}));

describe("losses over sequences", () => {
  for (const kind of ["gspo", "gmpo"] as const) {
    it(`${kind}: micro-batches that split a sequence change nothing, and rows alone are other sequences`, async () => {
      const loss: LossConfig = { ...ppo, kind, clipLow: 0.5, clipHigh: 0.5, entropyCoef: 0 };
      const gradientsOf = async (microBatchTokens: number, trained: readonly TrainRow[]) => {
        const { model, trainer } = await open(llamaConfig, microBatchTokens);
        const { stats } = await trainer.computeGradients(trained, loss);
        const gradients = await allGradients(trainer);
        trainer.dispose();
        model.dispose();
        return { stats, gradients };
      };
      const together = await gradientsOf(256, rows);
      const apart = await gradientsOf(12, rows);
      expect(relativeDistance(apart.gradients, together.gradients)).toBeLessThan(1e-5);
      expect(relativeDistance(apart.stats, together.stats)).toBeLessThan(1e-5);
      const alone = await gradientsOf(
        256,
        rows.map(({ unit: _, ...row }) => row),
      );
      expect(relativeDistance(alone.gradients, together.gradients)).toBeGreaterThan(1e-3);
    });
  }
});
