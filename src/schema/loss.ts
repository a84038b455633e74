/** What a training step minimises, and the optimizer that does. */

/** Estimators of a KL from sampled tokens; "+" has the gradient of k2. */
export type KlKind = "k1" | "abs" | "k2" | "k3" | "k3_noclamp" | "k1+" | "k3+";

/** Losses of records; shaders/loss_KIND.wgsl and src/rl/losses state them. */
export type LossKind = "cross_entropy" | "ppo" | "gspo" | "gmpo" | "cispo" | "sapo" | "dppo_tv" | "reinforce" | "dro";

/** Which loss the step computes. */
export interface LossConfig {
  kind: LossKind;
  /** Logits are divided by it before the log-softmax: the sampler's temperature. */
  temperature: number;
  /**
   * How far below and above 1 the ratio may go before it is clipped (ppo, gspo, cispo); bounds of a log ratio for gmpo,
   * of a change in probability for dppo_tv.
   */
  clipLow: number;
  clipHigh: number;
  /** PPO's bound for negative advantages; 0 turns it off. */
  dualClip: number;
  /** Bound on the ratio as a weight: reinforce (default 0, which turns it off) and dppo_tv (default 20). */
  cap?: number;
  /** SAPO's gate temperatures by the advantage's sign; defaults 1 and 1.05. */
  tauPositive?: number;
  tauNegative?: number;
  /** DRO's pull to the old policy; default 0.1. */
  beta?: number;
  /** Weight and estimator of the KL to refLogprob; 0 turns it off. */
  klCoef: number;
  klKind: KlKind;
  entropyCoef: number;
}

/** How a value head on the policy's own hidden states learns in the policy's step. */
export interface ValueLossConfig {
  /** Factor of the value loss beside the policy's; more than 0. */
  coef: number;
  /** How far a value may move from the old one before its loss is clipped; 0 turns the clip off. */
  clipRange: number;
  /** How far its gradient goes: into the policy's weights, or no further than the head. */
  gradient: "policy" | "head";
  /** Of the head's own weights. */
  learningRate: number;
}

/** AdamW with decoupled decay; gradients are scaled to `maxGradNorm` when their global norm exceeds it. */
export interface OptimizerConfig {
  learningRate: number;
  beta1: number;
  beta2: number;
  eps: number;
  weightDecay: number;
  /** 0 turns clipping off. */
  maxGradNorm: number;
}
