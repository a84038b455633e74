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

  it("computes a prompt that many send at once a single time, chunk by chunk, and lets others go ahead meanwhile", () => {
    const pool = new BlockPool(60);
    const former = new BatchFormer(pool, { ...limits, maxSequences: 9, prefillTokens: 40 });
    const computed = new Map<string, number>();
    const length = 6 * pageTokens + 5;
    for (let i = 0; i < 8; i++) former.add(request(`same ${i}`, length, 2), 320);
    const other = { ...request("other", 30, 2), promptIds: new Int32Array(30).fill(3) };
    former.add(other, 320);
    while (former.wantsPrefill) {
      for (const p of former.formPrefill()) {
        const { id } = p.sequence.request;
        computed.set(id, (computed.get(id) ?? 0) + p.to - p.from);
        former.advance(p.sequence, p.to);
        if (p.samples) p.sequence.append(1, 0, 0);
      }
    }
    expect(computed.get("same 0")).toBe(length);
    for (let i = 1; i < 8; i++) expect(computed.get(`same ${i}`)).toBe(5);
    // The other prompt had room in the second and third chunk of the first.
    expect([...computed.keys()].slice(0, 2)).toEqual(["same 0", "other"]);
  });

  it("continues a reply from the cache: a next turn computes only what is new", () => {
    const pool = new BlockPool(40);
    const former = new BatchFormer(pool, limits);
    const first = former.add(request("turn 1", 30, 12), 320);
    drive(former, () => {});
    const history = first.tokens.slice(0, first.length);
    const promptIds = Int32Array.from([...history, 1, 2, 3]);
    const second = former.add({ ...request("turn 2", 1, 4), promptIds }, 320);
    const [part] = former.formPrefill();
    // All but the reply's last token was computed: 41 of 42, of which whole pages are kept.
    expect(part).toMatchObject({ from: 2 * pageTokens, to: 45 });
    expect(second.cachedTokens).toBe(2 * pageTokens);
  });

  it("gives up the end of a prompt that nobody uses before its beginning", () => {
    const former = new BatchFormer(new BlockPool(8), limits);
    former.add(request("first", 6 * pageTokens, 1), 320);
    drive(former, () => {});
    // Two pages are free and six are kept: this takes the last two of those.
    former.add({ ...request("other", 1, 1), promptIds: new Int32Array(4 * pageTokens - 1).fill(9) }, 320);
    drive(former, () => {});
    const again = former.add(request("again", 6 * pageTokens, 1), 320);
    expect(former.formPrefill()).toMatchObject([{ from: 4 * pageTokens }]);
    expect(again.cachedTokens).toBe(4 * pageTokens);
  });

  it("takes sequences that need the host one token at a time, in turns with the burst", () => {
    const former = new BatchFormer(new BlockPool(80), { ...limits, maxSequences: 16, prefillTokens: 400 });
    for (let i = 0; i < 2; i++) former.add(request(`free ${i}`, 5, 40), 320);
    for (let i = 0; i < 10; i++) former.add({ ...request(`step ${i}`, 5, 40), topLogprobs: 1 }, 320);
    while (former.wantsPrefill) {
      const parts = former.formPrefill();
      expect(parts.filter((p) => p.samples && p.sequence.isStepwise).length).toBeLessThanOrEqual(8);
      for (const p of parts) {
        former.advance(p.sequence, p.to);
        if (p.samples) p.sequence.append(p.sequence.request.id.length, 0, 0);
      }
    }
    const turns = Array.from({ length: 5 }, () => {
      const work = former.formDecode();
      return `${work?.steps}: ${work?.sequences.map((s) => s.request.id.replace(/(.).* /, "$1")).join(" ")}`;
    });
    expect(turns).toEqual([
      "4: f0 f1",
      "1: s0 s1 s2 s3 s4 s5 s6 s7",
      "1: s8 s9 s0 s1 s2 s3 s4 s5",
      "4: f0 f1",
      "1: s6 s7 s0 s1 s2 s3 s4 s5",
    ]);
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
