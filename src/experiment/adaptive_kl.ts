import { adaptKl } from "../rl/kl.ts";
import type { TrainConfig } from "../schema/train_config.ts";
import type { MetricsLine } from "./run_folder.ts";

/**
 * The KL's coefficient for the next update, from the KL per token that this one's metrics state; undefined where the
 * configuration keeps it fixed or nothing was measured. `rollouts`: those of the update.
 */
export function nextKlCoef(
  { klTarget, klHorizon, klIn }: TrainConfig,
  coef: number,
  line: MetricsLine,
  rollouts: number,
): number | undefined {
  if (klTarget === 0) return undefined;
  const measured = line[klIn === "reward" ? "actor/reward_kl_penalty" : "actor/kl_loss"];
  if (typeof measured !== "number" || !Number.isFinite(measured)) return undefined;
  return adaptKl({ coef, target: klTarget, horizon: klHorizon }, measured, rollouts).coef;
}
