import { z } from "zod";

/** Any number: what lies outside a mask may be NaN or infinite, which z.number refuses. */
const number: z.ZodType<number> = z.custom<number>((value) => typeof value === "number", "expected a number");
const numbers: z.ZodType<number[]> = z.array(number);

/** Statistics of one tensor: sums, l2 norm, some entries by flat index, all of them when it is small. */
export interface TensorSummary {
  shape: number[];
  sum: number;
  abs_sum: number;
  l2: number;
  idx: number[];
  val: number[];
  full?: number[];
}

const tensorSummarySchema: z.ZodType<TensorSummary> = z.object({
  shape: numbers,
  sum: number,
  abs_sum: number,
  l2: number,
  idx: numbers,
  val: numbers,
  full: numbers.optional(),
});

const summaries: z.ZodType<Record<string, TensorSummary>> = z.record(z.string(), tensorSummarySchema);

/** Residual stream of one sequence at one depth. */
export interface TraceEntry {
  l2: number;
  sum: number;
  last4: number[];
}

/** PPO with a sum over the mask, at the golden's temperature. */
export interface PpoSection {
  clip_low: number;
  clip_high: number;
  old_logprobs: number[];
  advantages: number[];
  mask: number[];
  ratio: number[];
  loss_sum: number;
  n_clipped: number;
  grad_norm: number;
  grads: Record<string, TensorSummary>;
}

/** Dual-clip PPO with importance weights, k3 and entropy, a mean over the mask. */
export interface FullLossSection {
  clip_ratio_c: number;
  is_weights: number[];
  ref_logprobs: number[];
  kl_coef: number;
  entropy_coef: number;
  loss: number;
  pg_mean: number;
  k3_mean: number;
  entropy_mean: number;
  grad_norm: number;
  grads: Record<string, TensorSummary>;
}

/** Cross entropy, a mean over the mask, at temperature 1. */
export interface SftSection {
  loss: number;
  grad_norm: number;
  grads: Record<string, TensorSummary>;
}

/** Optimizer steps on the PPO loss. */
export interface AdamwSection {
  lr: number;
  betas: number[];
  eps: number;
  weight_decay: number;
  max_grad_norm: number;
  steps: number;
  loss_per_step: number[];
  grad_norm_per_step: number[];
  params_after: Record<string, TensorSummary>;
}

/** Argmax decoding. */
export interface GreedySection {
  prompt: number[];
  output: number[];
  margins: number[];
  logprobs: number[];
}

/** golden.json of a model folder; every expectation may be absent. */
export interface ModelGolden {
  n_params?: number;
  input_ids: number[];
  cu_seqlens: number[];
  temperature: number;
  logits?: number[][];
  logprobs?: number[];
  entropies?: number[];
  final_hidden_last_token?: number[][];
  layer_trace?: TraceEntry[][];
  ppo?: PpoSection;
  full_loss?: FullLossSection;
  sft?: SftSection;
  adamw?: AdamwSection;
  greedy?: GreedySection;
}

const ppoSchema: z.ZodType<PpoSection> = z.object({
  clip_low: number,
  clip_high: number,
  old_logprobs: numbers,
  advantages: numbers,
  mask: numbers,
  ratio: numbers,
  loss_sum: number,
  n_clipped: number,
  grad_norm: number,
  grads: summaries,
});

const fullLossSchema: z.ZodType<FullLossSection> = z.object({
  clip_ratio_c: number,
  is_weights: numbers,
  ref_logprobs: numbers,
  kl_coef: number,
  entropy_coef: number,
  loss: number,
  pg_mean: number,
  k3_mean: number,
  entropy_mean: number,
  grad_norm: number,
  grads: summaries,
});

const sftSchema: z.ZodType<SftSection> = z.object({ loss: number, grad_norm: number, grads: summaries });

const adamwSchema: z.ZodType<AdamwSection> = z.object({
  lr: number,
  betas: numbers,
  eps: number,
  weight_decay: number,
  max_grad_norm: number,
  steps: number,
  loss_per_step: numbers,
  grad_norm_per_step: numbers,
  params_after: summaries,
});

const greedySchema: z.ZodType<GreedySection> = z.object({
  prompt: numbers,
  output: numbers,
  margins: numbers,
  logprobs: numbers,
});

/** Schema of golden.json; other keys are reported, not refused. */
export const modelGoldenSchema: z.ZodType<ModelGolden> = z.object({
  n_params: number.optional(),
  input_ids: numbers,
  cu_seqlens: numbers,
  temperature: number,
  logits: z.array(numbers).optional(),
  logprobs: numbers.optional(),
  entropies: numbers.optional(),
  final_hidden_last_token: z.array(numbers).optional(),
  layer_trace: z.array(z.array(z.object({ l2: number, sum: number, last4: numbers }))).optional(),
  ppo: ppoSchema.optional(),
  full_loss: fullLossSchema.optional(),
  sft: sftSchema.optional(),
  adamw: adamwSchema.optional(),
  greedy: greedySchema.optional(),
});

/** Keys that describe the file, or state how far the reference's own float32 run was off. */
const descriptive = new Set([
  "format",
  "name",
  "split",
  "seed",
  "weights_dtype",
  "tied",
  "comment",
  "f32_deviation",
  "logprobs_f32",
  "loss_sum_f32",
  "loss_per_step_f32",
]);

/** What the schemas above read, by section; "" is the file itself. */
const known: Readonly<Record<string, readonly string[]>> = {
  "": [
    ...["n_params", "input_ids", "cu_seqlens", "temperature", "logits", "logprobs", "entropies"],
    ...["final_hidden_last_token", "layer_trace", "ppo", "full_loss", "sft", "adamw", "greedy"],
  ],
  ppo: [
    ...["clip_low", "clip_high", "old_logprobs", "advantages", "mask", "ratio"],
    ...["loss_sum", "n_clipped", "grad_norm", "grads"],
  ],
  full_loss: [
    ...["clip_ratio_c", "is_weights", "ref_logprobs", "kl_coef", "entropy_coef", "loss"],
    ...["pg_mean", "k3_mean", "entropy_mean", "grad_norm", "grads"],
  ],
  sft: ["loss", "grad_norm", "grads"],
  adamw: [
    ...["lr", "betas", "eps", "weight_decay", "max_grad_norm", "steps"],
    ...["loss_per_step", "grad_norm_per_step", "params_after"],
  ],
  greedy: ["prompt", "output", "margins", "logprobs"],
};

/** Dotted names of what a golden.json holds and nothing here reads. */
export function unreadKeys(json: Readonly<Record<string, unknown>>): string[] {
  return Object.entries(known).flatMap(([section, keys]) => {
    const value = section === "" ? json : json[section];
    if (typeof value !== "object" || value === null) return [];
    const unread = Object.keys(value).filter((key) => !keys.includes(key) && !descriptive.has(key));
    return unread.map((key) => (section === "" ? key : `${section}.${key}`));
  });
}
