import type { AdvantageConfig } from "../rl/advantages/registry.ts";
import type { BatchOptions } from "../rl/batch/batch_input.ts";
import type { RejectionOptions } from "../rl/correction/rejection.ts";
import { policyLosses } from "../rl/losses/registry.ts";
import type { Normalisation } from "../rl/normalisation.ts";
import type { LossConfig, OptimizerConfig, ValueLossConfig } from "../schema/loss.ts";
import type { TrainConfig } from "../schema/train_config.ts";

/** What one update optimises and how: a configuration's training section as batch, engine and critic take it. */
export interface Objective {
  readonly batch: Partial<BatchOptions>;
  /** Adapter that is trained, where the engine has several. */
  readonly adapter?: string;
  readonly loss: LossConfig;
  readonly optimizer: OptimizerConfig;
  /** A step of the critic alone: each of a separate one, and a value head's while the policy rests; null for none. */
  readonly critic: { readonly optimizer: OptimizerConfig; readonly clipRange: number } | null;
  /** The value loss in the policy's own steps; null without a value head, or while only that learns. */
  readonly value: ValueLossConfig | null;
  readonly epochs: number;
  /** False in updates in which only the critic learns. */
  readonly trainsPolicy: boolean;
}

/** What an update's objective depends on beside the configuration. */
export interface UpdatePlace {
  readonly seed: number;
  /** Number of the update, from 1. */
  readonly update: number;
  /** The coefficient that the KL's controller has come to. */
  readonly klCoef: number;
}

/**
 * True when a sequence of advantage 0 adds nothing to the update: no term of the loss but one that the advantage scales,
 * and no critic that learns from it.
 */
function isAllByAdvantage({ loss, critic }: TrainConfig, { klCoef, entropyCoef }: LossConfig): boolean {
  return policyLosses[loss].isZeroWithoutAdvantage && klCoef === 0 && entropyCoef === 0 && critic === "none";
}

function batchOptions(t: TrainConfig, { seed, update, klCoef }: UpdatePlace, loss: LossConfig): Partial<BatchOptions> {
  const fill = t.missingReward === "drop" ? 0 : t.missingReward;
  const corrected = t.correction !== "none" || t.rejections.length > 0 || t.opsmDelta > 0;
  const { correctionBound: bound, correctionLow: low, correctionHigh: high, correctionNormalise: batchNormalise } = t;
  return {
    view: t.view,
    level: t.level,
    callDiscount: t.callDiscount,
    advantage: { estimator: t.advantage, ...t.advantageOptions } as AdvantageConfig,
    normalisation: t.normalisation as Normalisation,
    normalisationLength: t.normalisationLength,
    missingReward: t.missingReward === "drop" ? "exclude" : "fill",
    rewardFill: fill,
    failed: t.failed,
    timedOut: t.timedOut,
    overlong: t.overlong,
    maxAge: t.maxAge,
    zeroVariance: t.zeroVariance === "keep" ? "keep" : "exclude",
    ratioOf: t.ratioOf,
    incompleteGroup: t.incompleteGroup,
    skipZeroAdvantage: isAllByAdvantage(t, loss),
    miniBatches: t.miniBatches,
    miniBatchBy: t.miniBatchBy,
    seed: seed * 1_000_003 + update,
    oldLogprobs: corrected ? "recomputed" : t.oldLogprobs,
    klInReward: t.klIn === "reward" ? klCoef : 0,
    correction: t.correction === "none" ? null : { level: t.correction, bound, low, high, batchNormalise },
    rejections: t.rejections as RejectionOptions[],
    opsmDelta: t.opsmDelta,
  };
}

/** A clip range under one name for all losses: dppo_tv calls it by what it bounds. */
interface ClipRange {
  readonly clipLow: number;
  readonly clipHigh: number;
}

/** The clip range that a loss's own file states; 0 for losses without one, which read none. */
export function ownClipRange(loss: TrainConfig["loss"]): ClipRange {
  const { clipLow, clipHigh, maxDecrease, maxIncrease }: Record<string, number> = { ...policyLosses[loss].defaults };
  return { clipLow: clipLow ?? maxDecrease ?? 0, clipHigh: clipHigh ?? maxIncrease ?? 0 };
}

/** The clip range that a configuration comes to: what it gives, and the loss's own where it says "auto". */
export function clipRangeOf({
  loss,
  clipLow,
  clipHigh,
}: Pick<TrainConfig, "loss" | "clipLow" | "clipHigh">): ClipRange {
  const own = ownClipRange(loss);
  return {
    clipLow: clipLow === "auto" ? own.clipLow : clipLow,
    clipHigh: clipHigh === "auto" ? own.clipHigh : clipHigh,
  };
}

/** The objective of one update. */
export function objectiveOf(t: TrainConfig, place: UpdatePlace): Objective {
  const { temperature, dualClip, klKind, entropyCoef } = t;
  const { learningRate, beta1, beta2, eps, weightDecay, maxGradNorm } = t;
  const optimizer = { learningRate, beta1, beta2, eps, weightDecay, maxGradNorm };
  const ofCritic = { ...optimizer, learningRate: t.criticLearningRate };
  const { valueClip: clipRange, valueCoef: coef, valueGradient: gradient } = t;
  // Without a critic there is nothing to warm up: this setting, as its others, says nothing.
  const trainsPolicy = t.critic === "none" || place.update > t.criticWarmup;
  const loss: LossConfig = {
    ...t.lossOptions,
    ...{ kind: t.loss, temperature, ...clipRangeOf(t), dualClip, klKind, entropyCoef },
    klCoef: t.klIn === "loss" ? place.klCoef : 0,
  };
  return {
    batch: batchOptions(t, place, loss),
    loss,
    optimizer,
    critic: t.critic === "none" || (t.critic === "head" && trainsPolicy) ? null : { optimizer: ofCritic, clipRange },
    value:
      t.critic === "head" && trainsPolicy ? { coef, clipRange, gradient, learningRate: ofCritic.learningRate } : null,
    epochs: t.epochs,
    trainsPolicy,
  };
}
