/**
 * Cases: random rows against the sorted float64 reference; k = 1, tiny p, ties across each cut, temperature 0, V = 1, V
 * no multiple of the workgroup, huge logits, -inf logits; rows that are no distribution; forced ids; distribution of
 * 20,000 draws; bursts (stop ids, allowance, pages, absent pages, forced table, sequence order); independence of the batch.
 */
import { describe, expect, it } from "#test";
import { Rng, seedKey } from "../../src/core/rng.ts";
import { PlanBuilder } from "../../src/gpu/plan_builder.ts";
import type { Tensor } from "../../src/gpu/tensor.ts";
import { sample } from "../../src/ops/sample.ts";
import {
  createSampleState,
  none,
  type SampleOutcome,
  type SampleParams,
  sampleStatus,
} from "../../src/ops/sample_state.ts";
import { testDevice, testDeviceWith } from "./opcheck.ts";
import { burst, running } from "./sample_burst.ts";
import { distributionOf, drawOf } from "./sampling_reference.ts";

function params(p: Partial<SampleParams> = {}): SampleParams {
  return { temperature: 1, topK: 0, topP: 1, minP: 0, key: [1, 2], counter: 0, ...p };
}

/** Compares one outcome with the reference; false when the draw is so near a boundary that rounding decides. */
function expectDraw(got: SampleOutcome, logits: readonly number[], p: SampleParams, n = 0): boolean {
  const want = drawOf(Float32Array.from(logits), { ...p, temperature: Math.fround(p.temperature) }, n);
  if (want.margin < 1e-5) return false;
  const near = Math.abs(got.logprob - want.logprob) <= 2e-5 * Math.max(1, Math.abs(want.logprob));
  const logprob = near || got.logprob === want.logprob ? want.logprob : got.logprob;
  const text = JSON.stringify({ params: p, logits: logits.slice(0, 8) });
  expect(`${got.id} ${logprob} ${got.truncated} ${text}`).toBe(`${want.id} ${want.logprob} ${want.truncated} ${text}`);
  return true;
}

const variants = [{ deviceClass: "software" }, { deviceClass: "gpu" }] as const;

describe("sample: one draw", () => {
  for (const caps of variants) {
    for (const vocab of [2, 7, 64, 301, 5000, 60_000]) {
      it(`agrees with sorting on random rows of ${vocab} logits on ${caps.deviceClass}`, async () => {
        const rng = new Rng(seedKey(vocab));
        const count = vocab > 10_000 ? 6 : vocab > 1000 ? 12 : 200;
        const rows = Array.from({ length: count }, () => Array.from({ length: vocab }, () => 3 * rng.normal()));
        const settings = rows.map((_, i) =>
          params({
            temperature: rng.pick([0, 0.2, 0.7, 1, 1, 1.5]),
            topK: rng.pick([0, 0, 1, 3, 20, vocab, vocab + 5]),
            topP: rng.pick([1, 1, 0.95, 0.5, 0.1]),
            minP: rng.pick([0, 0, 0.05, 0.3]),
            key: [i, 77],
            counter: rng.below(1000),
          }),
        );
        const { outcomes } = await burst(await testDeviceWith(caps), { logits: rows, params: settings });
        let compared = 0;
        for (const [i, row] of rows.entries()) {
          compared += expectDraw(outcomes[0]?.[i] as SampleOutcome, row, settings[i] as SampleParams) ? 1 : 0;
        }
        expect(compared / count).toBeGreaterThan(vocab > 10_000 ? 0.6 : 0.9);
      });
    }
  }

  const inf = Number.POSITIVE_INFINITY;
  const edges: [string, number[], Partial<SampleParams>][] = [
    ["V = 1", [-4], {}],
    ["V = 1 with every cut", [-4], { topK: 1, topP: 0.1, minP: 0.9 }],
    ["k = 1 is the likeliest", [1, 5, 2], { topK: 1 }],
    ["k = 1, tie: the lower id", [1, 5, 5, 5], { topK: 1 }],
    ["k = 2, tie across the cut", [5, 1, 5, 5], { topK: 2 }],
    ["k past V", [1, 2], { topK: 9 }],
    ["zeros of both signs are one tie", [-0, -0, 0, -1], { topK: 2 }],
    ["p tiny keeps one", [1, 2, 3], { topP: 1e-7 }],
    ["p = 0 keeps one", [1, 2, 3], { topP: 0 }],
    ["p across equal ids", [1, 1, 1, 1, 1, 1, 1], { topP: 0.5 }],
    ["k then p within its ties", [2, 2, 2, 2, 0, 0], { topK: 3, topP: 0.6 }],
    ["min-p above 1 keeps the likeliest", [1, 2, 3], { minP: 5 }],
    ["min-p exactly at the bound", [0, -Math.LN2, -3], { minP: 0.49 }],
    ["temperature 0: the likeliest at temperature 1", [1, 3, 2], { temperature: 0, topK: 1, topP: 0.2 }],
    ["temperature 0, tie: the lower id", [1, 3, 3], { temperature: 0 }],
    ["small temperature", [1, 1.5, 1.2], { temperature: 0.01 }],
    ["large temperature", [1, 50, -60], { temperature: 100 }],
    ["huge logits", [3e38, -3e38, 2e38], {}],
    ["huge equal logits", [1e30, 1e30, -1e30], {}],
    ["all very negative", [-1e30, -1e30], {}],
    ["-inf logits are never drawn", [-inf, 0, -inf, 0, -inf], {}],
    ["-inf logits and top-k past the rest", [-inf, 0, -inf, 0, -inf], { topK: 4, topP: 0.99 }],
    ["forced id with its untruncated logprob", [0, 1, 2], { forced: 0, topK: 1, topP: 0.3 }],
    ["forced id, temperature 0", [0, 1, 2], { forced: 1, temperature: 0 }],
    ["forced id without probability", [0, -inf, 2], { forced: 1 }],
  ];
  for (const caps of variants) {
    for (const [name, logits, p] of edges) {
      it(`${name} on ${caps.deviceClass}`, async () => {
        const rows = Array.from({ length: 24 }, () => logits);
        const settings = rows.map((_, i) => params({ ...p, key: [i, 5] }));
        const { outcomes } = await burst(await testDeviceWith(caps), { logits: rows, params: settings });
        const compared = rows.filter((row, i) =>
          expectDraw(outcomes[0]?.[i] as SampleOutcome, row, settings[i] as SampleParams),
        );
        expect(compared.length).toBeGreaterThan(20);
      });
    }
  }

  it("refuses rows that are no distribution, and says so in the status", async () => {
    const bad = [
      [Number.NaN, 0, 1],
      [0, 1, Number.NaN],
      [0, inf, 1],
      [-inf, -inf, -inf],
      [Number.NaN, Number.NaN, Number.NaN],
    ];
    for (const settings of [{ temperature: 0 }, {}, { topK: 2, topP: 0.5 }]) await expectRefused(bad, settings);
  });

  async function expectRefused(bad: readonly (readonly number[])[], more: Partial<SampleParams>): Promise<void> {
    const settings = bad.map(() => params(more));
    const { outcomes, states } = await burst(await testDevice(), {
      logits: [...bad, [0, 1, 2]],
      params: [...settings, params({ forced: 3 })],
    });
    for (const [i, got] of (outcomes[0] as SampleOutcome[]).entries()) {
      expect(got).toEqual({ id: none, logprob: 0, truncated: false, status: sampleStatus.invalid });
      expect(states[i]).toEqual({ ...running, slot: none, status: sampleStatus.invalid });
    }
  }

  it("returns the same bits alone and among others", async () => {
    const device = await testDevice();
    const rng = new Rng(seedKey(9));
    const rows = Array.from({ length: 32 }, () => Array.from({ length: 97 }, () => 2 * rng.normal()));
    const settings = rows.map((_, i) => params({ topP: 0.9, topK: 40, temperature: 0.8, key: [i, i] }));
    const together = await burst(device, { logits: rows, params: settings });
    for (const i of [0, 13, 31]) {
      const alone = await burst(device, { logits: [rows[i] as number[]], params: [settings[i] as SampleParams] });
      expect(alone.outcomes[0]?.[0]).toEqual(together.outcomes[0]?.[i]);
    }
  });
});

describe("sample: distribution", () => {
  for (const [name, p, kept] of [
    ["plain", {}, 13],
    ["temperature and top-p", { temperature: 1.3, topP: 0.8 }, 0],
  ] as const) {
    it(`20,000 draws follow the probabilities: ${name}`, async () => {
      const logits = Array.from({ length: 13 }, (_, i) => 2 * Math.sin(3 * i));
      const [S, steps] = [500, 40];
      const settings = Array.from({ length: S }, (_, s) => params({ ...p, key: [s, 1], counter: 100 * s }));
      const rows = Array.from({ length: S }, () => logits);
      const { outcomes } = await burst(await testDevice(), {
        logits: rows,
        params: settings,
        steps,
        pages: rows.map(() => [0, 1, 2]),
      });
      const counts = new Array<number>(logits.length).fill(0);
      let compared = 0;
      for (const [n, row] of outcomes.entries()) {
        for (const [s, got] of row.entries()) {
          counts[got.id] = (counts[got.id] as number) + 1;
          if (s % 25 === 0) compared += expectDraw(got, logits, settings[s] as SampleParams, n) ? 1 : 0;
        }
      }
      expect(compared).toBeGreaterThan(700);
      const { probs } = distributionOf(logits, params(p));
      let chi = 0;
      let cells = 0;
      for (const [i, q] of probs.entries()) {
        if (q === 0) expect(counts[i]).toBe(0);
        else chi += ((counts[i] as number) - q * S * steps) ** 2 / (q * S * steps);
        cells += q > 0 ? 1 : 0;
      }
      if (kept > 0) expect(cells).toBe(kept);
      // Wilson-Hilferty: the chi-square of df degrees at 4 standard deviations, p about 3e-5.
      const df = cells - 1;
      expect(chi).toBeLessThan(df * (1 - 2 / (9 * df) + 4 * Math.sqrt(2 / (9 * df))) ** 3);
    });
  }
});

describe("sample: bursts", () => {
  it("ends sequences by stop id and allowance, and passes over them afterwards", async () => {
    const likely = (id: number): number[] => [0, 1, 2, 3].map((i) => (i === id ? 9 : 0));
    const { outcomes, states } = await burst(await testDevice(), {
      logits: [likely(2), likely(3), likely(1)],
      params: [params({ temperature: 0 }), params({ temperature: 0 }), params({ temperature: 0 })],
      steps: 3,
      states: [{ position: 4, remaining: 9 }, { position: 4, remaining: 2 }, { status: sampleStatus.idle }],
      stops: [[1, 2], [0], [1]],
    });
    expect(outcomes.map((row) => row.map((o) => [o.id, o.status]))).toEqual([
      [
        [2, sampleStatus.stopped],
        [3, sampleStatus.running],
        [none, sampleStatus.idle],
      ],
      [
        [none, sampleStatus.stopped],
        [3, sampleStatus.length],
        [none, sampleStatus.idle],
      ],
      [
        [none, sampleStatus.stopped],
        [none, sampleStatus.length],
        [none, sampleStatus.idle],
      ],
    ]);
    expect(states[0]).toEqual({ id: 2, position: 5, slot: none, drawn: 1, remaining: 8, status: sampleStatus.stopped });
    expect(states[1]).toEqual({ id: 3, position: 6, slot: none, drawn: 2, remaining: 0, status: sampleStatus.length });
    expect(states[2]?.drawn).toBe(0);
  });

  it("gives each id its slot across pages, and waits where the page is missing", async () => {
    const { outcomes, states } = await burst(await testDevice(), {
      logits: [
        [0, 1],
        [0, 1],
        [0, 1],
      ],
      params: [params(), params(), params()],
      steps: 3,
      states: [{ position: 13 }, { position: 30 }, { position: 14 }],
      pages: [
        [5, 9],
        [7, 3],
        [4, none],
      ],
    });
    expect(outcomes.map((row) => row.map((o) => o.status))).toEqual([
      [0, 0, 0],
      [0, sampleStatus.noPage, sampleStatus.noPage],
      [0, sampleStatus.noPage, sampleStatus.noPage],
    ]);
    expect(states.map((s) => [s.position, s.slot, s.drawn])).toEqual([
      [16, 9 * 16, 3],
      [32, none, 2],
      [16, none, 2],
    ]);
  });

  it("serves rows in any order, with forced ids per step, and leaves other sequences alone", async () => {
    const logits = [
      [0, 1, 2, 3],
      [3, 2, 1, 0],
    ];
    const settings = [params({ key: [1, 1] }), params({ key: [2, 2] }), params({ key: [3, 3], counter: 50 })];
    const { outcomes, states } = await burst(await testDevice(), {
      logits,
      params: settings,
      steps: 4,
      seq: [2, 0],
      states: [{}, { id: 77, position: 3 }, { drawn: 6 }],
      forced: [
        [none, none, 1],
        [3, none, none],
      ],
    });
    const forced = (id: number): SampleParams => params({ forced: id });
    for (const [n, row] of outcomes.entries()) {
      const expected = [
        [row[2], logits[0], n === 0 ? forced(1) : settings[2], 6 + n],
        [row[0], logits[1], n === 1 ? forced(3) : settings[0], n],
      ] as [SampleOutcome, number[], SampleParams, number][];
      for (const [got, row, p, draw] of expected) expect(expectDraw(got, row, p, draw)).toBe(true);
    }
    expect(states[1]).toEqual({ ...running, id: 77, position: 3 });
    expect(states.map((s) => s.drawn)).toEqual([4, 0, 10]);
  });

  it("refuses shapes that do not belong together", async () => {
    const device = await testDevice();
    const plan = new PlanBuilder(device, "sample");
    const state = createSampleState(device, 3);
    const t = (...shape: number[]): Tensor => plan.temp(shape, "t", "u32");
    const good = {
      logits: t(2, 9),
      seq: t(2),
      params: t(3, 8),
      stops: t(3, 1),
      pages: t(3, 2),
      state,
      out: t(1, 3, 4),
    };
    for (const [name, bad, text] of [
      ["seq", t(3), "ShapeError[sample.seq]: expected (2), got (3)."],
      ["params", t(3, 7), "ShapeError[sample.params]: expected (3,8), got (3,7)."],
      ["stops", t(2, 1), "ShapeError[sample.stops]: expected (3,1), got (2,1)."],
      ["pages", t(4, 2), "ShapeError[sample.pages]: expected (3,2), got (4,2)."],
      ["out", t(1, 3), "ShapeError[sample.out]: expected (1,3,4), got (1,3)."],
      ["forced", t(2, 2), "ShapeError[sample.forced]: expected (2,3), got (2,2)."],
    ] as const) {
      expect(() => sample(plan, { ...good, [name]: bad }, 0)).toThrow(text);
    }
    if (state.all.storage.kind === "buffer") device.pool.release(state.all.storage.buffer);
  });
});
