import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { entropy, entropyGradient, logprobGradient, logSoftmax, truncatedDistribution } from "../../src/rl/sampling.ts";

const logits = fc.array(fc.double({ min: -8, max: 8, noNaN: true }), { minLength: 2, maxLength: 12 });
const plain = { temperature: 1, topK: 0, topP: 1, minP: 0 };

/** Derivative of `f` at logit i by central differences. */
function numeric(f: (logits: number[]) => number, at: readonly number[], i: number): number {
  const moved = (h: number): number[] => at.map((x, k) => (k === i ? x + h : x));
  return (f(moved(1e-5)) - f(moved(-1e-5))) / 2e-5;
}

describe("next-token distribution", () => {
  it("adds up to 1 and does not overflow", () => {
    const logprobs = logSoftmax([1e4, 1e4 - 1, Number.NEGATIVE_INFINITY], 0.5);
    expect(logprobs.reduce((s, l) => s + Math.exp(l), 0)).toBeCloseTo(1, 12);
    expect(logprobs[2]).toBe(Number.NEGATIVE_INFINITY);
    expect(entropy(logprobs)).toBeGreaterThan(0);
  });

  it("has gradients that central differences confirm", () => {
    fc.assert(
      fc.property(logits, fc.constantFrom(0.5, 1, 2), (x, temperature) => {
        const logprobs = logSoftmax(x, temperature);
        const token = x.length - 1;
        const dLogprob = logprobGradient(logprobs, token, temperature);
        const dEntropy = entropyGradient(logprobs, temperature);
        for (let i = 0; i < x.length; i++) {
          const l = numeric((y) => logSoftmax(y, temperature)[token] as number, x, i);
          const h = numeric((y) => entropy(logSoftmax(y, temperature)), x, i);
          expect(Math.abs((dLogprob[i] as number) - l)).toBeLessThan(1e-5);
          expect(Math.abs((dEntropy[i] as number) - h)).toBeLessThan(1e-4);
        }
      }),
    );
  });

  it("a token that cannot be sampled has no part in the entropy or its gradient", () => {
    const logprobs = logSoftmax([0, 0, Number.NEGATIVE_INFINITY]);
    expect(entropy(logprobs)).toBeCloseTo(Math.LN2, 12);
    expect(entropyGradient(logprobs, 1)[2]).toBe(0);
  });
});

describe("truncation", () => {
  it("always keeps the most likely token, and what is kept adds up to 1", () => {
    const sampling = fc.record({
      temperature: fc.constantFrom(0, 0.3, 1, 2),
      topK: fc.integer({ min: 0, max: 6 }),
      topP: fc.double({ min: 0.01, max: 1, noNaN: true }),
      minP: fc.double({ min: 0, max: 1, noNaN: true }),
    });
    fc.assert(
      fc.property(logits, sampling, (x, s) => {
        const found = truncatedDistribution(x, s);
        expect(found.kept[x.indexOf(Math.max(...x))]).toBe(1);
        expect(found.probabilities.reduce((a, b) => a + b, 0)).toBeCloseTo(1, 9);
        found.probabilities.forEach((p, i) => {
          expect(p > 0).toBe(found.kept[i] === 1);
        });
      }),
    );
  });

  it("temperature 0 is greedy; of equal logits the lower id wins", () => {
    expect([...truncatedDistribution([1, 3, 3], { ...plain, temperature: 0 }).kept]).toEqual([0, 1, 0]);
  });

  it("top-p keeps the token that crosses the threshold, top-k comes first, min-p last", () => {
    const halves = [Math.log(0.5), Math.log(0.3), Math.log(0.15), Math.log(0.05)];
    const kept = (s: Partial<typeof plain>): number[] => [...truncatedDistribution(halves, { ...plain, ...s }).kept];
    expect(kept({ topP: 0.5 })).toEqual([1, 0, 0, 0]);
    expect(kept({ topP: 0.51 })).toEqual([1, 1, 0, 0]);
    expect(kept({ topK: 2, topP: 0.6 })).toEqual([1, 0, 0, 0]);
    expect(kept({ minP: 0.31 })).toEqual([1, 1, 0, 0]);
    expect(kept({ topK: 99 })).toEqual([1, 1, 1, 1]);
  });

  it("leaves the trainer's log-probabilities alone (vime 64, vLLM 42259)", () => {
    const found = truncatedDistribution([2, 1, 0], { ...plain, temperature: 0.7, topK: 1 });
    expect([...found.logprobs]).toEqual([...logSoftmax([2, 1, 0], 0.7)]);
    expect(found.logprobs[0]).toBeLessThan(0);
    expect(found.sumSquares).toBeCloseTo(
      found.logprobs.reduce((s, l) => s + Math.exp(2 * l), 0),
      12,
    );
  });
});
