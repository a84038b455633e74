import type { GoldenRow } from "../golden_rl/golden_file.ts";
import {
  absoluteDeviation,
  type Deviation,
  goldenRow,
  parameterDeviation,
  relativeDeviation,
  tolerances,
  uncheckedRow,
  worstOf,
} from "./comparison.ts";
import { ppoLoss } from "./golden_rows.ts";
import { type GoldenRun, readNamed } from "./golden_run.ts";
import { ppoRows } from "./gradient_checks.ts";

/** A gradient norm counts as 0 below this. */
const smallNorm = 1e-3;

/** Steps of clipped AdamW on the PPO loss. It changes the model, so it comes last. */
export async function adamwChecks({ file, golden, model, trainer }: GoldenRun): Promise<GoldenRow[]> {
  const adamw = golden.adamw;
  if (adamw === undefined) return [];
  const ppo = golden.ppo;
  if (ppo === undefined) return [uncheckedRow(file, "adamw", "it needs the ppo section's rows")];
  const losses: number[] = [];
  const norms: Deviation[] = [];
  const [beta1 = 0.9, beta2 = 0.999] = adamw.betas;
  for (let step = 0; step < adamw.steps; step++) {
    const result = await trainer.step(ppoRows(golden, ppo), ppoLoss(golden, ppo), {
      learningRate: adamw.lr,
      beta1,
      beta2,
      eps: adamw.eps,
      weightDecay: adamw.weight_decay,
      maxGradNorm: adamw.max_grad_norm,
    });
    losses.push(result.loss);
    const want = adamw.grad_norm_per_step[step];
    if (want !== undefined)
      norms.push({ ...relativeDeviation(result.gradNorm, want, smallNorm), place: `step ${step + 1}` });
  }
  const parameters: Deviation[] = [];
  for (const [name, want] of Object.entries(adamw.params_after)) {
    parameters.push(parameterDeviation(name, await readNamed(model, model.parameters, name), want));
  }
  return [
    goldenRow(file, "adamw.loss_per_step", absoluteDeviation(losses, adamw.loss_per_step), tolerances.loss),
    goldenRow(file, "adamw.grad_norm_per_step", worstOf(norms), tolerances.gradient),
    goldenRow(file, "adamw.params_after", worstOf(parameters), tolerances.parameters, `${parameters.length} tensors`),
  ];
}
