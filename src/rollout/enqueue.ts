import { newRollout } from "../schema/rollout.ts";
import type { StoreEvent } from "../schema/store.ts";
import type { RolloutCreate } from "../schema/wire.ts";
import { HookError } from "./errors.ts";
import type { RolloutHooks } from "./hooks.ts";

/** A rollout to create under an id of the caller's. */
export type NamedCreate = RolloutCreate & { rollout_id: string };

/**
 * Events that create rollouts, each first shown to onEnqueue. One whose hook throws is created as it was and failed
 * with the HookError, so that its group still counts it. The id is the caller's whatever the hook returns. `now` is in
 * seconds since the epoch.
 */
export async function enqueueEvents(
  creates: readonly NamedCreate[],
  hooks: RolloutHooks,
  now: number,
): Promise<StoreEvent[]> {
  const events: StoreEvent[] = [];
  for (const create of creates) {
    const { rollout_id: rolloutId } = create;
    try {
      const shown = hooks.onEnqueue ? await hooks.onEnqueue(create) : create;
      events.push({ type: "rollout_created", rollout: newRollout(shown, rolloutId, now) });
    } catch (thrown) {
      const error = new HookError("onEnqueue", rolloutId, thrown);
      const patch = { state: "failed" as const, error_message: `${error.code}: ${error.message}` };
      events.push({ type: "rollout_created", rollout: newRollout(create, rolloutId, now) });
      events.push({ type: "rollout_patched", rolloutId, patch, at: now });
    }
  }
  return events;
}
