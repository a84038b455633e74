import { readFileSync } from "node:fs";
import { describe, expect } from "vitest";
import type { SampleParams } from "../../src/ops/sample_state.ts";
import { sampleOnce } from "../ops/sample_burst.ts";
import { itShared } from "../shared.ts";

interface GoldenCase {
  id: number;
  logits: number[];
  temperature: number;
  top_k: number;
  top_p: number;
  min_p: number;
  expect: { logprob_full: number[]; probs_filtered: number[] };
}

/** Draws per case: enough to meet every id of a few percent. */
const draws = 200;

describe("sampling golden", () => {
  itShared(
    "every id's full log-probability, and only kept ids with theirs",
    "golden/rl/sampling.json",
    async (path) => {
      const { cases } = JSON.parse(readFileSync(path, "utf8")) as { cases: GoldenCase[] };
      expect(cases.length).toBeGreaterThan(0);
      for (const c of cases) {
        const p: SampleParams = {
          temperature: c.temperature,
          topK: c.top_k,
          topP: c.top_p,
          minP: c.min_p,
          key: [c.id, 1],
          counter: 0,
        };
        const forced = await sampleOnce(
          c.logits.map(() => c.logits),
          c.logits.map((_, id) => ({ ...p, forced: id })),
        );
        for (const [id, want] of c.expect.logprob_full.entries()) {
          expect(Math.abs((forced[id]?.logprob ?? Number.NaN) - want)).toBeLessThan(1e-5);
        }
        const drawn = await sampleOnce(
          Array.from({ length: draws }, () => c.logits),
          Array.from({ length: draws }, (_, n) => ({ ...p, counter: n })),
        );
        const truncated = c.expect.probs_filtered.some((q) => q === 0);
        for (const { id, logprob, truncated: said } of drawn) {
          const want = Math.log(c.expect.probs_filtered[id] as number);
          expect(Math.abs(logprob - want)).toBeLessThan(1e-5);
          expect(said).toBe(truncated);
        }
        const seen = new Set(drawn.map((o) => o.id));
        for (const [id, q] of c.expect.probs_filtered.entries()) {
          if (q > 0.05) expect(seen.has(id)).toBe(true);
        }
      }
    },
  );
});
