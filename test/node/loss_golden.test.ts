import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { LossSettings } from "../../src/ops/loss_settings.ts";
import { correctionWeights } from "../../src/rl/correction/weights.ts";
import { policyLosses } from "../../src/rl/losses/registry.ts";
import { rowShares, rowWeights } from "../../src/rl/normalisation.ts";
import { computeCoupled } from "../ops/coupled_run.ts";
import { baseLoss } from "../ops/loss_run.ts";
import { testDevice } from "../ops/opcheck.ts";
import { hasShared, sharedPath } from "../shared.ts";

type Matrix = (number | string)[][];

interface GoldenCase {
  id: number;
  logprob: Matrix;
  old_logprob: Matrix;
  advantages: Matrix;
  mask: number[][];
  expect: Record<string, { loss: number; grad: number[][] }>;
}

const checks: Readonly<Record<string, Partial<LossSettings> & Pick<LossSettings, "kind">>> = {
  ppo: { kind: "ppo", clipLow: 0.2, clipHigh: 0.2, dualClip: 0 },
  ppo_clip_higher: { kind: "ppo", clipLow: 0.2, clipHigh: 0.28, dualClip: 0 },
  dual_clip: { kind: "ppo", clipLow: 0.2, clipHigh: 0.28, dualClip: 3 },
  gspo: { kind: "gspo", clipLow: 0.05, clipHigh: 0.08 },
  gmpo: { kind: "gmpo", clipLow: 0.4, clipHigh: 0.4 },
  cispo: { kind: "cispo", clipLow: 0.2, clipHigh: 0.28 },
  cispo_upper_only: { kind: "cispo", clipLow: 1, clipHigh: 4 },
  sapo: { kind: "sapo", tauPositive: 1, tauNegative: 1.05 },
  dppo_tv: { kind: "dppo_tv", clipLow: 0.1, clipHigh: 0.1, cap: 20 },
  reinforce: { kind: "reinforce", cap: 0 },
  reinforce_tis: { kind: "reinforce", cap: 2 },
  dro: { kind: "dro", beta: 0.1 },
};

/** Sampled tokens of a case, row by row. */
function tokensOf({ mask }: GoldenCase): { row: number; t: number }[] {
  return mask.flatMap((m, row) => m.flatMap((kept, t) => (kept === 0 ? [] : [{ row, t }])));
}

/**
 * Loss and gradient by logprob of a case on the device: a vocabulary of two ids whose logits are (x, 0) gives the first
 * any log-probability below 0, and dlogprob / dx = 1 - p.
 */
async function onDevice(c: GoldenCase, settings: (typeof checks)[string]): Promise<{ loss: number; grad: number[] }> {
  const tokens = tokensOf(c);
  const at = (values: Matrix): number[] => tokens.map(({ row, t }) => Number(values[row]?.[t]));
  const weights = rowWeights(rowShares(c.mask), policyLosses[settings.kind as keyof typeof policyLosses].normalisation);
  const logprob = at(c.logprob);
  const p = logprob.map(Math.exp);
  const count = tokens.length;
  const lossCase = {
    ...{ T: count, C: 1, V: 2, h: Float64Array.from(p, (q, i) => (logprob[i] as number) - Math.log1p(-q)) },
    w: Float64Array.of(1, 0),
    src: tokens.map((_, i) => i),
    target: tokens.map(() => 0),
    weight: tokens.map(({ row }) => weights[row] as number),
    advantage: at(c.advantages),
    oldLogprob: at(c.old_logprob),
    refLogprob: tokens.map(() => 0),
  };
  const unit = tokens.map(({ row }) => row);
  const got = await computeCoupled(await testDevice(), lossCase, { ...baseLoss, ...settings }, { unit });
  const loss = tokens.reduce((sum, _, r) => sum + (got.stats[8 * r + 2] as number), 0);
  return { loss, grad: Array.from(got.dh, (g, i) => g / (1 - (p[i] as number))) };
}

function goldenCases<Case = GoldenCase>(name = "policy_loss"): Case[] {
  const shared = `golden/rl/${name}.json`;
  const path = hasShared(shared) ? sharedPath(shared) : new URL(`../golden/rl/${name}.json`, import.meta.url);
  return (JSON.parse(readFileSync(path, "utf8")) as { cases: Case[] }).cases;
}

/** Asserts loss and gradients of a case within 1e-4 of what it expects. */
function expectGolden(c: GoldenCase, want: GoldenCase["expect"][string], got: { loss: number; grad: number[] }): void {
  const grad = tokensOf(c).map(({ row, t }) => want.grad[row]?.[t] as number);
  const scale = Math.max(1e-2, ...grad.map(Math.abs));
  expect(Math.abs(got.loss - want.loss) / Math.max(1e-2, Math.abs(want.loss)), `case ${c.id}`).toBeLessThan(1e-4);
  for (const [i, g] of grad.entries()) {
    expect(Math.abs((got.grad[i] as number) - g) / scale, `case ${c.id} token ${i}`).toBeLessThan(1e-4);
  }
}

type DecoupledCase = Omit<GoldenCase, "old_logprob"> & {
  proximal_logprob: Matrix;
  behaviour_logprob: Matrix;
  cap: number;
  clip: number;
};

/**
 * A decoupled case as a corrected batch poses it: PPO to the proximal policy, the advantage weighted. PPO knows
 * differences alone, so both log-probabilities are shifted to where probabilities are.
 */
function weighted(c: DecoupledCase, bound: "truncate" | "mask"): GoldenCase {
  const numbers = (values: Matrix): number[][] => values.map((row) => row.map(Number));
  const options = { level: "token", bound, low: 0, high: c.cap, batchNormalise: false } as const;
  const weights = correctionWeights(numbers(c.proximal_logprob), numbers(c.behaviour_logprob), c.mask, options);
  const advantages = numbers(c.advantages).map((row, i) => row.map((a, t) => a * (weights[i]?.[t] as number)));
  const top = numbers(c.logprob).flatMap((row, i) => row.filter((_, t) => c.mask[i]?.[t] !== 0));
  const by = 1 + Math.max(0, ...top);
  const shifted = (values: Matrix): number[][] => numbers(values).map((row) => row.map((l) => l - by));
  return { ...c, logprob: shifted(c.logprob), old_logprob: shifted(c.proximal_logprob), advantages };
}

/** What a float32 device can be given: finite numbers under the mask. */
function isFiniteCase(c: GoldenCase): boolean {
  return tokensOf(c).every(({ row, t }) =>
    [c.logprob, c.old_logprob, c.advantages].every((values) => Number.isFinite(Number(values[row]?.[t]))),
  );
}

describe("golden policy losses on the device", () => {
  for (const [name, settings] of Object.entries(checks)) {
    it(`${name}, every finite case, loss and gradient`, async () => {
      let checked = 0;
      for (const c of goldenCases().filter(isFiniteCase)) {
        const want = c.expect[name];
        if (want === undefined || tokensOf(c).length === 0) continue;
        const got = await onDevice(c, settings);
        expectGolden(c, want, got);
        checked++;
      }
      expect(checked).toBeGreaterThan(3);
    });
  }

  for (const bound of ["truncate", "mask"] as const) {
    it(`decoupled PPO, weights that ${bound}, every finite case`, async () => {
      let checked = 0;
      for (const decoupled of goldenCases<DecoupledCase>("decoupled_ppo")) {
        const c = weighted(decoupled, bound);
        const want = decoupled.expect[`token_${bound}`];
        if (want === undefined || tokensOf(c).length === 0 || !isFiniteCase(c)) continue;
        const settings = { kind: "ppo", clipLow: decoupled.clip, clipHigh: decoupled.clip, dualClip: 0 } as const;
        expectGolden(c, want, await onDevice(c, settings));
        checked++;
      }
      expect(checked).toBeGreaterThan(2);
    });
  }
});
