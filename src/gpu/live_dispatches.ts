/** What a dispatch reads and writes of a plan's temporaries, by slot; `lasting`: it writes to a buffer of its own too. */
export interface DispatchEffect {
  readonly touches: readonly number[];
  readonly writes: readonly number[];
  readonly lasting: boolean;
}

/**
 * Which dispatches of a plan matter: those that write to a lasting buffer, and those that write a temporary which one
 * that matters touches later, or which is read back (`kept`). What an operation computes although nobody asked for it,
 * like the result of a block that is recomputed for its backward alone, costs nothing then.
 */
export function liveDispatches(effects: readonly DispatchEffect[], kept: Iterable<number>): boolean[] {
  const needed = new Set(kept);
  const live = effects.map(() => false);
  for (let i = effects.length - 1; i >= 0; i--) {
    const { touches, writes, lasting } = effects[i] as DispatchEffect;
    if (!lasting && !writes.some((slot) => needed.has(slot))) continue;
    live[i] = true;
    for (const slot of touches) needed.add(slot);
  }
  return live;
}
