/** What a training step minimises, and the optimizer that does. */

/** Estimators of a KL from sampled tokens; "+" has the gradient of k2. */
export type KlKind = "k1" | "abs" | "k2" | "k3" | "k3_noclamp" | "k1+" | "k3+";

/** Which token loss the step computes. */
export interface LossConfig {
  kind: "cross_entropy" | "ppo";
  /** Logits are divided by it before the log-softmax: the sampler's temperature. */
  temperature: number;
  /** PPO: clip range below and above 1, and the dual-clip bound for negative advantages (0 turns it off). */
  clipLow: number;
  clipHigh: number;
  dualClip: number;
  /** Weight and estimator of the KL to refLogprob; 0 turns it off. */
  klCoef: number;
  klKind: KlKind;
  entropyCoef: number;
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
