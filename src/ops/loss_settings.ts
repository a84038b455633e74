import { ConfigError } from "../core/errors.ts";
import type { PlanBuilder } from "../gpu/plan_builder.ts";
import type { PlanValues, ScalarArg } from "../gpu/plan_values.ts";

/** Which token loss the head computes; the meaning of each field is stated in shaders/loss_terms.wgsl. */
export interface LossSettings {
  kind: "cross_entropy" | "ppo";
  temperature: number;
  clipLow: number;
  clipHigh: number;
  dualClip: number;
  klCoef: number;
  klKind: (typeof klKinds)[number];
  entropyCoef: number;
}

const kinds = ["cross_entropy", "ppo"] as const;
/** Numbered from 1 in the shader. */
export const klKinds = ["k1", "k2", "k3", "abs", "k3_noclamp", "k1+", "k3+"] as const;

/**
 * The plan values "loss.…" of a loss, so that one plan serves supervised and reinforcement steps alike.
 * @throws ConfigError when the temperature is not a positive number, another setting is not finite, or a kind is unknown.
 */
export function lossValues(loss: LossSettings): PlanValues {
  if (!(loss.temperature > 0) || !Number.isFinite(loss.temperature)) {
    throw new ConfigError(`A loss cannot use temperature ${loss.temperature}.`, {
      do: "Set the temperature that the tokens were sampled with, above 0.",
    });
  }
  const { temperature: _, kind, klKind, ...numbers } = loss;
  const bad = Object.entries(numbers).find(([, value]) => !Number.isFinite(value));
  if (bad !== undefined) {
    throw new ConfigError(`A loss cannot use ${bad[0]} ${bad[1]}.`, { do: "Give a finite number." });
  }
  if (!kinds.includes(kind) || !klKinds.includes(klKind)) {
    throw new ConfigError(`There is no loss "${kind}" with KL estimator "${klKind}".`, {
      do: `Use one of ${kinds.join(", ")} with one of ${klKinds.join(", ")}.`,
    });
  }
  return {
    "loss.inverse_temperature": 1 / loss.temperature,
    "loss.kind": kinds.indexOf(kind),
    "loss.clip_low": loss.clipLow,
    "loss.clip_high": loss.clipHigh,
    "loss.dual_clip": loss.dualClip,
    "loss.kl_kind": klKinds.indexOf(klKind) + 1,
    "loss.kl_coef": loss.klCoef,
    "loss.entropy_coef": loss.entropyCoef,
  };
}

const scalars = [
  "inverse_temperature",
  "kind",
  "clip_low",
  "clip_high",
  "dual_clip",
  "kl_kind",
  "kl_coef",
  "entropy_coef",
] as const;

/** The Dims fields of a loss as values of the plan. */
export function lossScalars(plan: PlanBuilder): Record<(typeof scalars)[number], ScalarArg> {
  const entries = scalars.map((name) => [name, plan.scalar(`loss.${name}`)] as const);
  return Object.fromEntries(entries) as Record<(typeof scalars)[number], ScalarArg>;
}
