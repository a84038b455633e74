import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { BatchFormer } from "../../src/infer/batch_former.ts";
import { BlockPool } from "../../src/infer/block_pool.ts";
import type { Sequence } from "../../src/infer/sequence.ts";
import { pageTokens } from "../../src/ops/kv_pages.ts";
import type { GenerateRequest } from "../../src/schema/engine.ts";

function request(id: string, promptLength: number, maxTokens: number): GenerateRequest {
  return {
    id,
    promptIds: Int32Array.from({ length: promptLength }, (_, i) => i % 7),
    maxTokens,
    sampling: { temperature: 1, topK: 0, topP: 1, minP: 0 },
    key: [1, 2],
    stopIds: [],
    stopStrings: [],
  };
}

/** Plays the device: every step computes what it was given and draws token 5. */
function drive(former: BatchFormer, done: (s: Sequence) => void, maxActions = 10_000): number {
  let actions = 0;
  const finishIfFull = (s: Sequence): void => {
    if (s.remaining === 0) {
      former.remove(s);
      done(s);
    }
  };
  while ((former.wantsPrefill || former.wantsDecode) && actions++ < maxActions) {
    if (former.wantsPrefill && actions % 2 === 1) {
      for (const p of former.formPrefill()) {
        former.advance(p.sequence, p.to);
        if (p.samples) {
          p.sequence.append(5, -1, 0);
          finishIfFull(p.sequence);
        }
      }
    } else {
      const work = former.formDecode();
      for (const s of work?.sequences ?? []) {
        const steps = Math.min(work?.steps ?? 0, s.remaining);
        for (let i = 0; i < steps; i++) s.append(5, -1, 0);
        former.advance(s, s.length - 1);
        finishIfFull(s);
      }
    }
  }
  return actions;
}

const limits = { maxSequences: 4, prefillTokens: 24, burst: 4 };

describe("BatchFormer", () => {
  it("splits a long prompt into chunks and samples only at its end", () => {
    const former = new BatchFormer(new BlockPool(20), limits);
    former.add(request("a", 50, 3), 320);
    const chunks: string[] = [];
    while (former.wantsPrefill) {
      for (const p of former.formPrefill()) {
        chunks.push(`${p.from}-${p.to}${p.samples ? "!" : ""}`);
        former.advance(p.sequence, p.to);
        if (p.samples) p.sequence.append(1, 0, 0);
      }
    }
    expect(chunks).toEqual(["0-24", "24-48", "48-50!"]);
  });

  it("reuses the pages of an equal prompt but always computes its last token", () => {
    const pool = new BlockPool(20);
    const former = new BatchFormer(pool, limits);
    const finished: Sequence[] = [];
    former.add(request("a", 2 * pageTokens, 1), 320);
    drive(former, (s) => finished.push(s));
    const second = former.add(request("b", 2 * pageTokens, 1), 320);
    const [part] = former.formPrefill();
    expect(part).toMatchObject({ from: pageTokens, to: 2 * pageTokens, samples: true });
    expect(second.cachedTokens).toBe(pageTokens);
  });

  it("preempts the newest sequence when pages run out, and it still finishes with all its tokens", () => {
    const pool = new BlockPool(4);
    const former = new BatchFormer(pool, { ...limits, prefillTokens: 64 });
    const finished: Sequence[] = [];
    former.add(request("a", 16, 30), 64);
    former.add(request("b", 16, 30), 64);
    drive(former, (s) => finished.push(s));
    expect(finished.map((s) => [s.request.id, s.sampled])).toEqual([
      ["a", 30],
      ["b", 30],
    ]);
    expect(former.preemptions).toBeGreaterThan(0);
    expect(pool.available).toBe(4);
  });

  it("draws one token past a full context, and none past a full cache", () => {
    for (const [pages, context, sampled] of [
      [20, 11, 6],
      [20, 32, 27],
      [2, 32, 26],
      [2, 500, 26],
    ] as const) {
      const former = new BatchFormer(new BlockPool(pages), limits);
      const finished: Sequence[] = [];
      former.add(request("a", 6, 100), context);
      expect(drive(former, (s) => finished.push(s))).toBeLessThan(100);
      expect(finished.map((s) => s.sampled)).toEqual([sampled]);
    }
  });

  it("finishes every request and returns every page, whatever the sizes", () => {
    const sizes = fc.array(fc.tuple(fc.integer({ min: 1, max: 60 }), fc.integer({ min: 1, max: 40 })), {
      minLength: 1,
      maxLength: 12,
    });
    fc.assert(
      fc.property(sizes, fc.integer({ min: 7, max: 12 }), (requests, pages) => {
        const pool = new BlockPool(pages);
        const former = new BatchFormer(pool, limits);
        const finished: Sequence[] = [];
        for (const [i, [prompt, max]] of requests.entries()) former.add(request(`${i}`, prompt, max), 100);
        const actions = drive(former, (s) => finished.push(s));
        expect(actions).toBeLessThan(10_000);
        expect(finished).toHaveLength(requests.length);
        expect(pool.available).toBe(pages);
      }),
    );
  });
});
