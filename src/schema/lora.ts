import { z } from "zod";

/** Low-rank adaptation (LoRA): what is trained beside frozen weights. */
export interface LoraConfig {
  /** Rank r of every pair. */
  readonly rank: number;
  /** The addition's factor is alpha / rank, or alpha / sqrt(rank) with rank stabilisation. */
  readonly alpha: number;
  /**
   * Linear layers that get a pair, by the last names of their module as PEFT's target_modules: "q_proj",
   * "mlp.down_proj"; "all-linear" means every one inside the blocks.
   */
  readonly targets: "all-linear" | readonly string[];
  /** Rank stabilisation (rsLoRA). */
  readonly rslora: boolean;
}

/** One adapter of an engine. */
export interface AdapterOptions {
  /** What requests call it; `baseAdapter` is taken. */
  readonly name: string;
  /** PEFT folder to continue from; empty starts a fresh one. */
  readonly folder: string;
  /** Form of a fresh one; a folder has its own. */
  readonly lora: LoraConfig;
}

/** Name under which requests reach the frozen weights without any adapter. */
export const baseAdapter = "base";

/** Rank 16, alpha 32 on every linear layer: a usual start. */
export const loraSchema: z.ZodType<LoraConfig> = z.strictObject({
  rank: z.number().int().min(1).max(1024).default(16),
  alpha: z.number().positive().default(32),
  targets: z.union([z.literal("all-linear"), z.array(z.string().min(1)).min(1)]).default("all-linear"),
  rslora: z.boolean().default(false),
});

/** Factor of the low-rank addition. Source: Hu et al. 2021, arXiv:2106.09685; Kalajdzievski 2023, arXiv:2312.03732. */
export function loraScale({ alpha, rank, rslora }: Pick<LoraConfig, "alpha" | "rank" | "rslora">): number {
  return alpha / (rslora ? Math.sqrt(rank) : rank);
}
