/**
 * Every policy loss on the device against src/rl's float64: value, and the gradient that its stop-gradients leave, on
 * logprobs near and far from the old ones; sequences of one record, of several, interleaved, and partly elsewhere; in one
 * chunk of records and in several; every KL estimator; what a plan without sequences says.
 */
import { describe, expect, it } from "#test";
import { PlanBuilder } from "../../src/gpu/plan_builder.ts";
import { lossHead } from "../../src/ops/loss_head.ts";
import { klKinds, type LossKind, type LossSettings, lossKinds } from "../../src/ops/loss_settings.ts";
import { klToken } from "../../src/rl/kl.ts";
import type { LossRow, TokenLosses } from "../../src/rl/losses/policy_loss.ts";
import { policyLosses } from "../../src/rl/losses/registry.ts";
import { computeCoupled } from "./coupled_run.ts";
import type { LossCase } from "./loss_reference.ts";
import { logprobsOf } from "./loss_reference.ts";
import { baseLoss, drawCase } from "./loss_run.ts";
import { expectClose, testDevice } from "./opcheck.ts";

type PolicyKind = Exclude<LossKind, "cross_entropy">;

const settings: Readonly<Record<PolicyKind, Partial<LossSettings>>> = {
  ppo: { clipLow: 0.2, clipHigh: 0.28, dualClip: 3 },
  gspo: { clipLow: 0.05, clipHigh: 0.08 },
  gmpo: { clipLow: 0.4, clipHigh: 0.4 },
  cispo: { clipLow: 0.2, clipHigh: 0.28 },
  sapo: { tauPositive: 1, tauNegative: 1.05 },
  dppo_tv: { clipLow: 0.1, clipHigh: 0.1, cap: 20 },
  reinforce: { cap: 2 },
  dro: { beta: 0.1 },
};

/** The float64 loss of a row under the same settings. */
function reference(kind: PolicyKind, row: LossRow): TokenLosses {
  const { clipLow = 0, clipHigh = 0, dualClip = 0, cap = 0 } = settings[kind];
  switch (kind) {
    case "ppo":
      return policyLosses.ppo.tokens(row, { clipLow, clipHigh, dualClip });
    case "gspo":
      return policyLosses.gspo.tokens(row, { clipLow, clipHigh });
    case "gmpo":
      return policyLosses.gmpo.tokens(row, { clipLow, clipHigh });
    case "cispo":
      return policyLosses.cispo.tokens(row, { clipLow, clipHigh });
    case "sapo":
      return policyLosses.sapo.tokens(row, policyLosses.sapo.defaults);
    case "dppo_tv":
      return policyLosses.dppo_tv.tokens(row, { maxDecrease: clipLow, maxIncrease: clipHigh, maxRatio: cap });
    case "reinforce":
      return policyLosses.reinforce.tokens(row, { cap });
    default:
      return policyLosses.dro.tokens(row, policyLosses.dro.defaults);
  }
}

/** Loss and gradient by logprob of every record, its sequence given by `unit`. */
function expected(kind: PolicyKind, c: LossCase, unit: readonly number[]): TokenLosses {
  const logprob = c.src.map((_, r) => logprobsOf(c, r, 1)[c.target[r] as number] as number);
  const out: TokenLosses = { loss: new Float64Array(unit.length), grad: new Float64Array(unit.length) };
  for (const u of new Set(unit)) {
    const members = [...unit.keys()].filter((r) => unit[r] === u);
    const pick = (values: readonly number[]): number[] => members.map((r) => values[r] as number);
    const row: LossRow = {
      logprob: pick(logprob),
      oldLogprob: pick(c.oldLogprob),
      advantages: pick(c.advantage),
      mask: pick(c.weight).map((w) => (w === 0 ? 0 : 1)),
    };
    const tokens = reference(kind, row);
    members.forEach((r, k) => {
      out.loss[r] = tokens.loss[k] as number;
      out.grad[r] = tokens.grad[k] as number;
    });
  }
  return out;
}

/** Gradient by h of sum weight * loss, by the chain rule through each record's logprob. */
function gradientOfH(c: LossCase, grad: Float64Array): Float64Array {
  const dh = new Float64Array(c.T * c.C);
  for (const [r, src] of c.src.entries()) {
    const p = logprobsOf(c, r, 1).map(Math.exp);
    const scale = (c.weight[r] as number) * (grad[r] as number);
    for (let i = 0; i < c.C; i++) {
      let mean = 0;
      for (let v = 0; v < c.V; v++) mean += (p[v] as number) * (c.w[v * c.C + i] as number);
      dh[src * c.C + i] =
        (dh[src * c.C + i] as number) + scale * ((c.w[(c.target[r] as number) * c.C + i] as number) - mean);
    }
  }
  return dh;
}

/** Records with rewards of one sign per unit, as rollouts have, and one record that does not count. */
function caseOf(unit: readonly number[]): LossCase {
  const c = drawCase(9, 6, 11, unit.length);
  c.advantage = unit.map((u) => (u % 2 === 0 ? 0.75 : -1.25));
  // Log ratios on both sides of every bound, far ones among them.
  c.oldLogprob = c.oldLogprob.map((old, r) => Math.fround(r % 7 === 3 ? old - 4 : r % 7 === 5 ? old + 1.5 : old));
  c.weight[4] = 0;
  return c;
}

const interleaved = Array.from({ length: 24 }, (_, r) => (r === 20 ? 5 : r % 4));

describe("policy losses on the device", () => {
  for (const kind of lossKinds) {
    if (kind === "cross_entropy") continue;
    it(`${kind} equals float64 in value and gradient, in one chunk of records and in several`, async () => {
      const device = await testDevice();
      const c = caseOf(interleaved);
      const loss: LossSettings = { ...baseLoss, kind, ...settings[kind] };
      const want = expected(kind, c, interleaved);
      const got = await computeCoupled(device, c, loss, { unit: interleaved });
      const losses = c.src.map((_, r) => got.stats[8 * r + 2] as number);
      expectClose(
        "loss",
        losses,
        Array.from(want.loss, (l, r) => l * (c.weight[r] as number)),
        1e-5,
      );
      expectClose("dh", got.dh, gradientOfH(c, want.grad), 2e-5);
      const chunked = await computeCoupled(device, c, loss, { unit: interleaved }, 4 * 11 * 4);
      expectClose("stats in chunks", chunked.stats, got.stats, 1e-6);
      expectClose("dh in chunks", chunked.dh, got.dh, 1e-6);
    });
  }

  for (const kind of ["gspo", "gmpo"] as const) {
    it(`${kind} takes the part of a sequence that lies elsewhere`, async () => {
      const device = await testDevice();
      const c = caseOf(interleaved);
      c.weight = c.weight.map(() => 0.5);
      const loss: LossSettings = { ...baseLoss, kind, ...settings[kind] };
      const whole = await computeCoupled(device, c, loss, { unit: interleaved });
      const kept = c.src.flatMap((_, r) => (r % 3 === 0 ? [] : [r]));
      const pick = <X>(values: readonly X[]): X[] => kept.map((r) => values[r] as X);
      const { clipLow, clipHigh } = loss;
      const part: LossCase = {
        ...c,
        ...{ src: pick(c.src), target: pick(c.target), weight: pick(c.weight), advantage: pick(c.advantage) },
        ...{ oldLogprob: pick(c.oldLogprob), refLogprob: pick(c.refLogprob) },
      };
      const outside = Array.from({ length: 6 }, (_, u): [number, number] => {
        const away = c.src.flatMap((_src, r) => (r % 3 === 0 && interleaved[r] === u ? [r] : []));
        const ratios = away.map((r) => {
          const d = (whole.stats[8 * r] as number) - (c.oldLogprob[r] as number);
          const clipped = (c.advantage[r] as number) >= 0 ? Math.min(d, clipHigh) : Math.max(d, -clipLow);
          return kind === "gmpo" ? clipped : d;
        });
        return [ratios.reduce((a, b) => a + b, 0), away.length];
      });
      const got = await computeCoupled(device, part, loss, { unit: pick(interleaved), outside });
      const losses = (stats: Float32Array, records: readonly number[]): number[] =>
        records.map((r) => stats[8 * r + 2] as number);
      expectClose("loss", losses(got.stats, [...kept.keys()]), losses(whole.stats, kept), 1e-5);
    });
  }

  for (const klKind of klKinds) {
    it(`adds the KL estimator ${klKind} with its gradient`, async () => {
      const device = await testDevice();
      const c = caseOf(interleaved);
      c.weight = c.weight.map(() => 1);
      c.refLogprob = c.refLogprob.map((l, r) => Math.fround(r === 3 ? l + 9 : r === 7 ? l - 30 : l));
      const got = await computeCoupled(
        device,
        c,
        { ...baseLoss, kind: "reinforce", klCoef: 0.5, klKind },
        { unit: interleaved },
      );
      const tokens = c.src.map((_, r) => {
        const logprob = logprobsOf(c, r, 1)[c.target[r] as number] as number;
        const { value, grad } = klToken(klKind, logprob, c.refLogprob[r] as number);
        const a = c.advantage[r] as number;
        return { loss: 0.5 * value - a * logprob, grad: 0.5 * grad - a, value };
      });
      const column = (at: number): number[] => c.src.map((_, r) => got.stats[8 * r + at] as number);
      expectClose(
        "kl",
        column(6),
        tokens.map((t) => t.value),
        1e-5,
      );
      expectClose(
        "loss",
        column(2),
        tokens.map((t) => t.loss),
        1e-5,
      );
      expectClose(
        "dh",
        got.dh,
        gradientOfH(
          c,
          Float64Array.from(tokens, (t) => t.grad),
        ),
        2e-5,
      );
    });
  }

  it("a loss over sequences refuses a plan without them", async () => {
    const plan = new PlanBuilder(await testDevice(), "loss");
    const t = (...shape: number[]) => plan.temp(shape, "t");
    const inputs = {
      ...{ h: t(6, 8), w: t(13, 8), src: t(10), target: t(10), weight: t(10), advantage: t(10) },
      ...{ oldLogprob: t(10), refLogprob: t(10) },
    };
    expect(() => lossHead(plan, inputs, {}, { kind: "gspo" })).toThrow(
      "ShapeError[loss_head.units]: expected (R), got (). Pass the sequences of the records: gspo couples their tokens.",
    );
  });
});
