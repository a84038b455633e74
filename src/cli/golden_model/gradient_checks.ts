import type { TrainRow } from "../../schema/engine.ts";
import type { LossConfig } from "../../schema/loss.ts";
import { statColumns } from "../../train/step_statistics.ts";
import type { GoldenRow } from "../golden_rl/golden_file.ts";
import {
  absoluteDeviation,
  type Deviation,
  goldenRow,
  gradientDeviation,
  relativeDeviation,
  tolerances,
  uncheckedRow,
  worstOf,
} from "./comparison.ts";
import { perToken, ppoLoss, trainRows } from "./golden_rows.ts";
import { type GoldenRun, readNamed, tensorNames } from "./golden_run.ts";
import type { ModelGolden, PpoSection, TensorSummary } from "./model_golden.ts";

/** The PPO section: ratios, clipped tokens, loss, every gradient. */
export async function ppoChecks(run: GoldenRun): Promise<GoldenRow[]> {
  const { file, golden, trainer } = run;
  const ppo = golden.ppo;
  if (ppo === undefined) return [];
  const { statistics, stats } = await trainer.computeGradients(ppoRows(golden, ppo), ppoLoss(golden, ppo));
  const column = (c: number): number[] =>
    perToken(
      golden,
      Float32Array.from(
        { length: stats.length / statColumns.width },
        (_, r) => stats[r * statColumns.width + c] as number,
      ),
    );
  const clipped = column(statColumns.clipped).filter((flag, t) => flag !== 0 && ppo.mask[t] !== 0).length;
  const ratio = column(statColumns.ratio);
  const ratios = ppo.mask.flatMap((m, t) =>
    m === 0 ? [] : [relativeDeviation(ratio[t] as number, ppo.ratio[t] as number, 1)],
  );
  return [
    // The ratio is the exponential of a log-probability, so its relative error is that one's absolute error.
    goldenRow(file, "ppo.ratio", worstOf(ratios), tolerances.logprob, "inside the mask"),
    goldenRow(file, "ppo.n_clipped", absoluteDeviation([clipped], [ppo.n_clipped]), 0),
    goldenRow(file, "ppo.loss_sum", absoluteDeviation([statistics.loss], [ppo.loss_sum]), tolerances.loss),
    ...(await gradientRows(run, "ppo", ppo)),
  ];
}

/** The full loss: dual clip, importance weights, k3 against a reference, entropy; a mean over the mask. */
export async function fullLossChecks(run: GoldenRun): Promise<GoldenRow[]> {
  const { file, golden, trainer } = run;
  const full = golden.full_loss;
  if (full === undefined) return [];
  const ppo = golden.ppo;
  if (ppo === undefined)
    return [uncheckedRow(file, "full_loss", "it needs the ppo section's mask and log-probabilities")];
  const count = maskCount(ppo);
  const rows = trainRows(golden, {
    weight: (t) => (ppo.mask[t] as number) / count,
    // PPO's term is proportional to the advantage, so an importance weight on the term is one on the advantage.
    advantage: (t) => (ppo.advantages[t] as number) * (full.is_weights[t] as number),
    oldLogprob: (t) => ppo.old_logprobs[t] as number,
    refLogprob: (t) => full.ref_logprobs[t] as number,
  });
  const loss: LossConfig = {
    ...ppoLoss(golden, ppo),
    dualClip: full.clip_ratio_c,
    klCoef: full.kl_coef,
    klKind: "k3",
    entropyCoef: full.entropy_coef,
  };
  const { statistics, stats } = await trainer.computeGradients(rows, loss);
  const meanOf = (c: number): number => {
    const values = perToken(
      golden,
      Float32Array.from(
        { length: stats.length / statColumns.width },
        (_, r) => stats[r * statColumns.width + c] as number,
      ),
    );
    return values.reduce((sum, v, t) => (ppo.mask[t] === 0 ? sum : sum + v), 0) / count;
  };
  const k3 = meanOf(statColumns.kl);
  const entropy = meanOf(statColumns.entropy);
  const policy = statistics.loss - full.kl_coef * k3 + full.entropy_coef * entropy;
  const means = Object.entries({ pg_mean: policy, k3_mean: k3, entropy_mean: entropy }) as ["pg_mean", number][];
  return [
    goldenRow(file, "full_loss.loss", absoluteDeviation([statistics.loss], [full.loss]), tolerances.loss),
    ...means.map(([key, value]) =>
      goldenRow(file, `full_loss.${key}`, absoluteDeviation([value], [full[key]]), tolerances.loss),
    ),
    ...(await gradientRows(run, "full_loss", full)),
  ];
}

/** Cross entropy at temperature 1, a mean over the mask. */
export async function sftChecks(run: GoldenRun): Promise<GoldenRow[]> {
  const { file, golden, trainer } = run;
  const sft = golden.sft;
  if (sft === undefined) return [];
  const ppo = golden.ppo;
  if (ppo === undefined) return [uncheckedRow(file, "sft", "it needs the ppo section's mask")];
  const count = maskCount(ppo);
  const rows = trainRows(golden, { weight: (t) => (ppo.mask[t] as number) / count });
  const loss: LossConfig = { ...ppoLoss(golden, ppo), kind: "cross_entropy", temperature: 1 };
  const { statistics } = await trainer.computeGradients(rows, loss);
  return [
    goldenRow(file, "sft.loss", absoluteDeviation([statistics.loss], [sft.loss]), tolerances.loss),
    ...(await gradientRows(run, "sft", sft)),
  ];
}

/** Rows of the PPO section: a sum over the mask. */
export function ppoRows(golden: ModelGolden, ppo: PpoSection): TrainRow[] {
  return trainRows(golden, {
    weight: (t) => ppo.mask[t] as number,
    advantage: (t) => ppo.advantages[t] as number,
    oldLogprob: (t) => ppo.old_logprobs[t] as number,
  });
}

function maskCount(ppo: PpoSection): number {
  return ppo.mask.reduce((n, m) => n + m, 0);
}

async function gradientRows(
  { file, model, trainer }: GoldenRun,
  section: string,
  expected: { grad_norm: number; grads: Record<string, TensorSummary> },
): Promise<GoldenRow[]> {
  const deviations: Deviation[] = [];
  let sum = 0;
  for (const name of tensorNames(model)) {
    const got = await readNamed(model, trainer.gradients, name);
    for (const v of got) sum += v * v;
    const want = expected.grads[name];
    if (want !== undefined) deviations.push(gradientDeviation(name, got, want, expected.grad_norm));
  }
  const unknown = Object.keys(expected.grads).filter((name) => !tensorNames(model).includes(name));
  for (const name of unknown)
    deviations.push({ worst: Number.POSITIVE_INFINITY, cases: 1, place: `no tensor ${name}` });
  const normDeviation = relativeDeviation(Math.sqrt(sum), expected.grad_norm);
  return [
    goldenRow(file, `${section}.grads`, worstOf(deviations), tolerances.gradient, `${deviations.length} tensors`),
    goldenRow(file, `${section}.grad_norm`, normDeviation, tolerances.gradient),
  ];
}
