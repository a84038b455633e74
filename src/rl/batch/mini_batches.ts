import { deriveKey, Rng, seedKey } from "../../core/rng.ts";
import type { RowShare } from "../normalisation.ts";
import type { BatchOptions } from "./batch_input.ts";

/**
 * Which optimizer step each unit belongs to: rollouts, or groups, whole, in `miniBatches` parts of sizes that differ by
 * at most one. The number of steps does not depend on how many rows a rollout has. Seeded; one part needs no draw.
 */
export function miniBatchOf(
  units: readonly RowShare[],
  { miniBatches, miniBatchBy, seed }: Pick<BatchOptions, "miniBatches" | "miniBatchBy" | "seed">,
): number[] {
  if (miniBatches <= 1) return units.map(() => 0);
  const ownerOf = (unit: RowShare): string => (miniBatchBy === "group" ? unit.group : unit.rollout);
  const owners = [...new Set(units.map(ownerOf))].sort((a, b) => (a < b ? -1 : 1));
  const rng = new Rng(deriveKey(seedKey(seed), "mini_batches"));
  for (let i = owners.length - 1; i > 0; i--) {
    const j = rng.below(i + 1);
    [owners[i], owners[j]] = [owners[j] as string, owners[i] as string];
  }
  const part = new Map(owners.map((owner, i) => [owner, Math.floor((i * miniBatches) / owners.length)]));
  return units.map((unit) => part.get(ownerOf(unit)) as number);
}
