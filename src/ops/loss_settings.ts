import { ConfigError } from "../core/errors.ts";
import type { PlanBuilder } from "../gpu/plan_builder.ts";
import type { PlanValues, ScalarArg } from "../gpu/plan_values.ts";

/** Every loss the head computes; each is a file shaders/loss_KIND.wgsl, which states it. */
export const lossKinds = [
  "cross_entropy",
  "ppo",
  "gspo",
  "gmpo",
  "cispo",
  "sapo",
  "dppo_tv",
  "reinforce",
  "dro",
] as const;

/** A loss of `lossKinds`. */
export type LossKind = (typeof lossKinds)[number];

/** KL estimators, numbered from 1 in shaders/loss_terms.wgsl, which states them. */
export const klKinds = ["k1", "k2", "k3", "abs", "k3_noclamp", "k1+", "k3+"] as const;

/** Which loss the head computes. A loss reads the fields that its file names; what is left out has the default. */
export interface LossSettings {
  kind: LossKind;
  temperature: number;
  clipLow: number;
  clipHigh: number;
  dualClip: number;
  /** Default 0 for "reinforce" (no cap), 20 for "dppo_tv". */
  cap?: number;
  /** Defaults 1 and 1.05. */
  tauPositive?: number;
  tauNegative?: number;
  /** Default 0.1. */
  beta?: number;
  klCoef: number;
  klKind: (typeof klKinds)[number];
  entropyCoef: number;
}

/** True for losses that need the mean log ratio of a record's whole sequence. */
export function isCoupled(kind: LossKind): boolean {
  return kind === "gspo" || kind === "gmpo";
}

/** A bound that no log ratio reaches. */
const unbounded = 3.4e38;

/**
 * The plan values "loss.…" of a loss; its kind is fixed when the plan is recorded.
 * @throws ConfigError when the temperature is not a positive number, another setting is not finite, or a kind is unknown.
 */
export function lossValues(loss: LossSettings): PlanValues {
  if (!(loss.temperature > 0) || !Number.isFinite(loss.temperature)) {
    throw new ConfigError(`A loss cannot use temperature ${loss.temperature}.`, {
      do: "Set the temperature that the tokens were sampled with, above 0.",
    });
  }
  const { temperature: _, kind, klKind, ...numbers } = loss;
  const bad = Object.entries(numbers).find(([, value]) => value !== undefined && !Number.isFinite(value));
  if (bad !== undefined) {
    throw new ConfigError(`A loss cannot use ${bad[0]} ${bad[1]}.`, { do: "Give a finite number." });
  }
  if (!lossKinds.includes(kind) || !klKinds.includes(klKind)) {
    throw new ConfigError(`There is no loss "${kind}" with KL estimator "${klKind}".`, {
      do: `Use one of ${lossKinds.join(", ")} with one of ${klKinds.join(", ")}.`,
    });
  }
  return {
    "loss.inverse_temperature": 1 / loss.temperature,
    "loss.clip_low": loss.clipLow,
    "loss.clip_high": loss.clipHigh,
    "loss.dual_clip": loss.dualClip,
    "loss.cap": loss.cap ?? (kind === "dppo_tv" ? 20 : 0),
    "loss.tau_positive": loss.tauPositive ?? 1,
    "loss.tau_negative": loss.tauNegative ?? 1.05,
    "loss.beta": loss.beta ?? 0.1,
    "loss.unit_low": kind === "gmpo" ? loss.clipLow : unbounded,
    "loss.unit_high": kind === "gmpo" ? loss.clipHigh : unbounded,
    "loss.kl_kind": klKinds.indexOf(klKind) + 1,
    "loss.kl_coef": loss.klCoef,
    "loss.entropy_coef": loss.entropyCoef,
  };
}

const scalars = [
  "inverse_temperature",
  "clip_low",
  "clip_high",
  "dual_clip",
  "cap",
  "tau_positive",
  "tau_negative",
  "beta",
  "unit_low",
  "unit_high",
  "kl_kind",
  "kl_coef",
  "entropy_coef",
] as const;

/** The Dims fields of a loss as values of the plan. */
export function lossScalars(plan: PlanBuilder): Record<(typeof scalars)[number], ScalarArg> {
  const entries = scalars.map((name) => [name, plan.scalar(`loss.${name}`)] as const);
  return Object.fromEntries(entries) as Record<(typeof scalars)[number], ScalarArg>;
}
