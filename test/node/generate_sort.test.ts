import { expect } from "vitest";
import { openEngine } from "../../src/app/open_engine.ts";
import { platform } from "../../src/platform/node.ts";
import { itShared } from "../shared.ts";

itShared("gpt-nano-sort sorts all 729 inputs by generating", "assets/gpt-nano-sort/hf", async (modelFolder) => {
  const engine = await openEngine(platform, { modelFolder, train: false });
  const inputs = Array.from({ length: 729 }, (_, n) => Array.from({ length: 6 }, (_, i) => Math.floor(n / 3 ** i) % 3));
  const outputs = await Promise.all(
    inputs.map(async (ids, n) => {
      const result = await engine.generate({
        id: String(n),
        promptIds: Int32Array.from(ids),
        maxTokens: 6,
        sampling: { temperature: 0, topK: 0, topP: 1, minP: 0 },
        key: [0, 0],
        stopIds: [],
        stopStrings: [],
      });
      return Array.from(result.ids);
    }),
  );
  expect(outputs).toEqual(inputs.map((ids) => [...ids].sort((a, b) => a - b)));
  await engine.close();
});
