/**
 * Cases: cross entropy, PPO with clip-higher and dual clip, each KL estimator, entropy, temperature, against float64 and its
 * differences; several records on a row, rows without, one of everything; chunks of records, windows of the vocabulary,
 * fewer records than planned; weight 0 beside NaN; NaN that must be seen; logits far apart; ratio beyond +-20.
 */
import { describe, expect, it } from "#test";
import type { Plan } from "../../src/gpu/plan.ts";
import { PlanBuilder } from "../../src/gpu/plan_builder.ts";
import type { Tensor } from "../../src/gpu/tensor.ts";
import { lossHead, scoreHead } from "../../src/ops/loss_head.ts";
import { type LossSettings, lossValues } from "../../src/ops/loss_settings.ts";
import { differencesOf, type LossCase, statsOf } from "./loss_reference.ts";
import { baseLoss as base, computeLoss as compute, drawCase, type LossGot as Got, hostInputs } from "./loss_run.ts";
import { expectClose, testDevice, testDeviceWith } from "./opcheck.ts";

function expectLoss(got: Got, c: LossCase, loss: LossSettings): void {
  expectClose("stats", got.stats, statsOf(c, loss), 1e-5);
  expectClose("dh", got.dh, differencesOf(c, loss, "h"), 2e-5);
  expectClose("dw", got.dw, differencesOf(c, loss, "w"), 2e-5);
}

const losses: [string, Partial<LossSettings>][] = [
  ["cross entropy", {}],
  ["cross entropy, temperature 0.7, entropy", { temperature: 0.7, entropyCoef: 0.1 }],
  ["ppo", { kind: "ppo" }],
  ["ppo without dual clip, temperature 1.3", { kind: "ppo", dualClip: 0, temperature: 1.3 }],
  ["ppo with k1", { kind: "ppo", klCoef: 0.3, klKind: "k1" }],
  ["ppo with k2", { kind: "ppo", klCoef: 0.3, klKind: "k2" }],
  ["ppo with k3 and entropy", { kind: "ppo", klCoef: 0.3, klKind: "k3", entropyCoef: 0.05 }],
];

describe("loss head", () => {
  for (const caps of [{ deviceClass: "software" }, { deviceClass: "gpu" }] as const) {
    for (const [name, part] of losses) {
      it(`equals float64 and its differences: ${name} on ${caps.deviceClass}`, async () => {
        const device = await testDeviceWith(caps);
        const before = device.pool.usage.buffers;
        const loss = { ...base, ...part };
        // 9 rows for 24 records: some rows have several, some none.
        const c = drawCase(9, 6, 11, 24);
        const got = await compute(device, c, { loss });
        expectLoss(got, c, loss);
        if (loss.kind === "ppo") {
          const flags = (at: number): number => Array.from(got.stats).filter((v, i) => i % 8 === at && v === 1).length;
          expect(flags(4)).toBeGreaterThan(2);
          if (loss.dualClip > 0) expect(flags(5)).toBeGreaterThan(0);
        }
        expect(device.pool.usage.buffers).toBe(before);
      });
    }

    it(`covers one record over one id, and a long vocabulary on ${caps.deviceClass}`, async () => {
      const device = await testDeviceWith(caps);
      for (const c of [drawCase(1, 1, 1, 1), drawCase(2, 3, 150, 3)]) {
        const loss = { ...base, entropyCoef: 0.2 };
        expectLoss(await compute(device, c, { loss }), c, loss);
      }
    });

    it(`gives the same in chunks of records and windows of the vocabulary on ${caps.deviceClass}`, async () => {
      const device = await testDeviceWith(caps);
      const c = drawCase(7, 16, 37, 11);
      const loss: LossSettings = { ...base, kind: "ppo", klCoef: 0.2, entropyCoef: 0.1, temperature: 0.9 };
      const whole = await compute(device, c, { loss });
      expectLoss(whole, c, loss);
      // Rows of 16 floats align in fours: chunks of 4 records, windows of 8 ids.
      const chunked = await compute(device, c, { loss, options: { chunkBytes: 4 * 37 * 4 }, spare: 6 });
      expect(chunked.stats).toEqual(whole.stats);
      expect(chunked.dh).toEqual(whole.dh);
      expectClose("dw in chunks", chunked.dw, whole.dw, 2e-6);
      const windowed = await compute(device, c, { loss, options: { chunkBytes: 4 * 37 * 4, windowBytes: 8 * 64 } });
      for (const key of ["stats", "dh", "dw"] as const)
        expectClose(`${key} in windows`, windowed[key], whole[key], 5e-6);
    });
  }

  it("adds to given gradients, and leaves a frozen head without one", async () => {
    const device = await testDevice();
    const c = drawCase(5, 6, 11, 8);
    const fresh = await compute(device, c, { loss: base });
    const added = await compute(device, c, { loss: base, before: 10 });
    expectClose(
      "dh",
      added.dh.subarray(0, 30),
      fresh.dh.map((v) => v + 10),
      1e-6,
    );
    expectClose(
      "dw",
      added.dw,
      fresh.dw.map((v) => v + 10),
      1e-6,
    );
    const plan = new PlanBuilder(device, "frozen");
    const dh = lossHead(plan, recordsOf(plan, 5, 6, 11, 8), {}).dh;
    plan.output("dh", dh);
    const built = await plan.build();
    const inputs = { ...hostInputs(c), w: Float32Array.from(c.w) };
    expect((await built.run(lossValues(base), inputs)).dh).toEqual(fresh.dh);
    built.dispose();
  });

  it("a record of weight 0 adds exactly nothing, even when its other numbers are NaN", async () => {
    const device = await testDevice();
    const loss: LossSettings = { ...base, kind: "ppo", klCoef: 0.1, entropyCoef: 0.1 };
    const c = drawCase(6, 8, 13, 10);
    const spoiled = { ...c, weight: c.weight.slice() };
    for (const key of ["advantage", "oldLogprob", "refLogprob"] as const) {
      spoiled[key] = c[key].map((v, r) => (r % 3 === 0 ? Number.NaN : v));
    }
    spoiled.weight = c.weight.map((v, r) => (r % 3 === 0 ? 0 : v));
    const kept = c.src.flatMap((_, r) => (r % 3 === 0 ? [] : [r]));
    const pick = <X>(values: X[]): X[] => kept.map((r) => values[r] as X);
    const without: LossCase = {
      ...c,
      src: pick(c.src),
      target: pick(c.target),
      weight: pick(c.weight),
      advantage: pick(c.advantage),
      oldLogprob: pick(c.oldLogprob),
      refLogprob: pick(c.refLogprob),
    };
    const got = await compute(device, spoiled, { loss });
    const want = await compute(device, without, { loss });
    expect(got.dh).toEqual(want.dh);
    expect(got.dw).toEqual(want.dw);
    const [logprob, entropy, ...rest] = got.stats.subarray(0, 8);
    expectClose("score", [logprob as number, entropy as number], statsOf(c, loss).slice(0, 2), 1e-5);
    expect(rest).toEqual([0, 0, 0, 0, 0, 0]);
  });

  for (const field of ["advantage", "oldLogprob", "refLogprob"] as const) {
    it(`NaN in the ${field} of a record that counts is seen in loss and gradient`, async () => {
      const loss: LossSettings = { ...base, kind: "ppo", klCoef: 0.1 };
      const c = drawCase(4, 8, 13, 5);
      c[field][2] = Number.NaN;
      const got = await compute(await testDevice(), c, { loss });
      expect(got.stats[2 * 8 + 2]).toBeNaN();
      const row = c.src[2] as number;
      expect(Array.from(got.dh.subarray(row * 8, row * 8 + 8)).some(Number.isNaN)).toBe(true);
    });
  }

  it("NaN in a logit that is nobody's target is seen in every score and gradient", async () => {
    const c = drawCase(4, 8, 13, 5);
    c.w.fill(Number.NaN, 12 * 8);
    c.target = c.target.map((v) => v % 12);
    const got = await compute(await testDevice(), c, { loss: base });
    for (const r of c.src.keys())
      expect(Array.from(got.stats.subarray(r * 8, r * 8 + 3))).toEqual(Array(3).fill(Number.NaN));
    expect(got.dw.every(Number.isNaN)).toBe(true);
  });

  for (const caps of [{ deviceClass: "software" }, { deviceClass: "gpu" }] as const) {
    it(`logits far apart stay finite, and nothing flows through the ratio's clamp on ${caps.deviceClass}`, async () => {
      const device = await testDeviceWith(caps);
      const loss: LossSettings = { ...base, kind: "ppo", dualClip: 0 };
      const c = drawCase(3, 4, 5, 6);
      const far = { ...c, h: c.h.map((v) => 3000 * v), oldLogprob: [0, -1e5, 0, -50, 40, 0] };
      const got = await compute(device, far, { loss });
      for (const key of ["stats", "dh", "dw"] as const) expect(got[key].every(Number.isFinite)).toBe(true);
      for (const [i, v] of statsOf(far, loss).entries()) {
        expect(Math.abs((got.stats[i] as number) - v)).toBeLessThan(1e-4 + 1e-5 * Math.abs(v));
      }
      const clamped = { ...c, oldLogprob: c.src.map(() => -40), advantage: c.src.map(() => -1) };
      expect((await compute(device, clamped, { loss })).dw.every((v) => v === 0)).toBe(true);
    });
  }

  it("scores without gradients, and one plan serves any numbers of its loss", async () => {
    const device = await testDevice();
    const c = drawCase(6, 8, 13, 10);
    const plans = { cross_entropy: new PlanBuilder(device, "score"), ppo: new PlanBuilder(device, "score") };
    const built = {
      cross_entropy: await scores(plans.cross_entropy, "cross_entropy"),
      ppo: await scores(plans.ppo, "ppo"),
    };
    const inputs = Object.fromEntries(
      Object.entries({ ...hostInputs(c), w: Float32Array.from(c.w) }).filter(([name]) => !name.startsWith("records.")),
    );
    for (const [, part] of losses) {
      const loss = { ...base, ...part };
      const { stats } = await built[loss.kind as keyof typeof built].run(lossValues(loss), inputs);
      expectClose("stats", stats as Float32Array, statsOf(c, loss), 1e-5);
    }
    for (const plan of Object.values(built)) plan.dispose();
  });

  it("refuses shapes that do not fit and temperatures that are none", async () => {
    const plan = new PlanBuilder(await testDevice(), "loss");
    const good = recordsOf(plan, 6, 8, 13, 10);
    const t = (...shape: number[]): Tensor => plan.temp(shape, "t");
    expect(() => scoreHead(plan, { ...good, w: t(13, 7) })).toThrow(
      "ShapeError[loss_head.w]: expected (13,8), got (13,7).",
    );
    expect(() => scoreHead(plan, { ...good, weight: t(9) })).toThrow(
      "ShapeError[loss_head.weight]: expected (10), got (9).",
    );
    for (const temperature of [0, -1, Number.NaN, Number.POSITIVE_INFINITY]) {
      expect(() => lossValues({ ...base, temperature })).toThrow(`A loss cannot use temperature ${temperature}.`);
    }
    expect(() => lossValues({ ...base, clipLow: Number.NaN })).toThrow("A loss cannot use clipLow NaN.");
    expect(() => lossValues({ ...base, kind: "a2c" as "ppo" })).toThrow('There is no loss "a2c"');
  });
});

/** Plan inputs of a loss head of fixed sizes. */
function recordsOf(plan: PlanBuilder, T: number, C: number, V: number, R: number): Parameters<typeof scoreHead>[1] {
  return {
    h: plan.input("h", [T, C]),
    w: plan.input("w", [V, C]),
    src: plan.input("src", [R], "u32"),
    target: plan.input("target", [R], "u32"),
    weight: plan.input("weight", [R]),
    advantage: plan.input("advantage", [R]),
    oldLogprob: plan.input("oldLogprob", [R]),
    refLogprob: plan.input("refLogprob", [R]),
  };
}

/** A scoring plan of a loss over 10 records. */
function scores(plan: PlanBuilder, kind: "cross_entropy" | "ppo"): Promise<Plan> {
  plan.output("stats", scoreHead(plan, recordsOf(plan, 6, 8, 13, 10), { kind }));
  return plan.build();
}
