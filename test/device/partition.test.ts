/** An update does not depend, to the last bit, on how its rows are split into micro-batches. */
import { describe, expect, it } from "#test";
import { deriveKey, Rng, seedKey } from "../../src/core/rng.ts";
import { parseHfConfig } from "../../src/io/hf_config.ts";
import { Model } from "../../src/model/model.ts";
import type { TrainRow } from "../../src/schema/engine.ts";
import type { LossConfig } from "../../src/schema/loss.ts";
import { Trainer } from "../../src/train/trainer.ts";
import { gemmaConfig, gpt2Config, qwen3Config } from "../model/configs.ts";
import { testDevice } from "../ops/opcheck.ts";
import { stillClock } from "../runtime/still_clock.ts";

const loss: LossConfig = {
  ...{ kind: "ppo", temperature: 1, clipLow: 0.2, clipHigh: 0.28, dualClip: 3 },
  ...{ klCoef: 0, klKind: "k3", entropyCoef: 0.01 },
};

function randomRows(count: number, vocab: number): TrainRow[] {
  const rng = new Rng(seedKey(3));
  return Array.from({ length: count }, () => {
    const ids = Int32Array.from({ length: 3 + rng.below(17) }, () => rng.below(vocab));
    const src = Int32Array.from({ length: ids.length - 2 }, (_, i) => i + 1);
    const floats = (draw: () => number): Float32Array => Float32Array.from(src, draw);
    return {
      ids,
      src,
      target: src.map((t) => ids[t + 1] as number),
      weight: floats(() => 0.01 + rng.uniform()),
      advantage: floats(() => rng.normal()),
      oldLogprob: floats(() => -3 + rng.normal()),
    };
  });
}

/** All rows at once, and four sizes at random from that of the longest row up. */
function randomSizes(seed: string, rows: readonly TrainRow[]): number[] {
  const rng = new Rng(deriveKey(seedKey(7), seed));
  const longest = Math.max(...rows.map((row) => row.ids.length));
  const all = rows.reduce((tokens, row) => tokens + row.ids.length, 0);
  return [all, ...Array.from({ length: 4 }, () => longest + rng.below(all - longest))];
}

describe("micro-batches", () => {
  for (const [name, config] of Object.entries({ qwen3: qwen3Config, gemma: gemmaConfig, gpt2: gpt2Config })) {
    it(`of any size give the same gradients of ${name} (verl 7200)`, async () => {
      const device = await testDevice();
      const model = Model.initialize(device, parseHfConfig(config), { seed: 4, std: 0.3 });
      const rows = randomRows(9, model.description.vocabSize);
      const results = [];
      for (const microBatchTokens of randomSizes(name, rows)) {
        const trainer = new Trainer(model, { microBatchTokens, clock: stillClock });
        const { stats } = await trainer.computeGradients(rows, loss);
        const gradients: Record<string, Float32Array> = {};
        for (const parameter of trainer.gradients.layout.parameters.keys()) {
          gradients[parameter] = await trainer.gradients.read(parameter);
        }
        results.push({ stats, gradients });
        trainer.dispose();
      }
      for (const other of results.slice(1)) {
        expect(other.stats).toEqual(results[0]?.stats);
        const differing = Object.entries(results[0]?.gradients ?? {}).filter(([parameter, values]) =>
          values.some((v, i) => v !== other.gradients[parameter]?.[i]),
        );
        expect(differing.map(([parameter]) => parameter)).toEqual([]);
      }
      model.dispose();
    });
  }
});
