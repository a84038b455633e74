import type { Batch, BatchOptions, GroupRecord } from "./batch_input.ts";
import { prepareBatch } from "./prepare_batch.ts";

/**
 * `prepareBatch` and `finish` in one, for options that need nothing of the device.
 * @throws LeydenError "missing_scores" when they do; and as prepareBatch.
 */
export function buildBatch(groups: readonly GroupRecord[], options: Partial<BatchOptions> = {}): Batch {
  return prepareBatch(groups, options).finish({ logprobs: null, refLogprobs: null, values: null });
}
