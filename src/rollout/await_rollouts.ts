import type { Clock } from "../core/clock.ts";
import { isTerminal } from "../schema/rollout.ts";
import type { RolloutClient } from "../schema/rollout_client.ts";
import type { Rollout } from "../schema/wire.ts";
import { NoRunnerError } from "./errors.ts";

/** How rollouts are waited for. */
export interface AwaitOptions {
  clock: Clock;
  signal: AbortSignal;
  /** How long all of them may queue before "no runner connected" is said, in milliseconds; 0 waits on. */
  noRunnerMs: number;
  /** Called for each rollout once, when it has ended; null when it was deleted. */
  onFinished(rolloutId: string, rollout: Rollout | null): void;
}

/** Waits for rollouts by id, each counted once whatever happens in between. */
class Pending {
  readonly ids: Set<string>;
  anyStarted = false;
  private readonly client: RolloutClient;
  private readonly onFinished: AwaitOptions["onFinished"];

  constructor(client: RolloutClient, ids: Iterable<string>, onFinished: AwaitOptions["onFinished"]) {
    this.client = client;
    this.ids = new Set(ids);
    this.onFinished = onFinished;
  }

  async look(rolloutId: string): Promise<void> {
    if (!this.ids.has(rolloutId)) return;
    const rollout = await this.client.get(rolloutId);
    if (rollout !== null && rollout.status.state !== "queuing") this.anyStarted = true;
    if (rollout !== null && !isTerminal(rollout.status.state)) return;
    if (this.ids.delete(rolloutId)) this.onFinished(rolloutId, rollout);
  }
}

/**
 * Resolves once every rollout has ended.
 * @throws NoRunnerError "no_runner" when none of them leaves the queue in time; CancelledError
 */
export async function awaitRollouts(
  client: RolloutClient,
  ids: Iterable<string>,
  { clock, signal, noRunnerMs, onFinished }: AwaitOptions,
): Promise<void> {
  const pending = new Pending(client, ids, onFinished);
  const done = new AbortController();
  const either = AbortSignal.any([signal, done.signal]);
  const watching = async () => {
    let cursor = await client.cursor();
    for (const id of [...pending.ids]) await pending.look(id);
    while (pending.ids.size > 0) {
      const { cursor: next, changes } = await client.watch(cursor, either);
      cursor = next;
      for (const { rolloutId, kind } of changes) if (kind !== "activity") await pending.look(rolloutId);
    }
  };
  const watched = watching();
  // Without a reader of its own, the watch that this function abandons below would count as an unhandled rejection.
  watched.catch(() => undefined);
  try {
    const tooLong = noRunnerMs > 0 && (await isLater(clock, noRunnerMs, watched, either));
    if (tooLong && !pending.anyStarted) throw new NoRunnerError(pending.ids.size, noRunnerMs);
    await watched;
  } finally {
    done.abort();
  }
}

/** True when the time has passed before the promise settled. */
async function isLater(clock: Clock, ms: number, promise: Promise<void>, signal: AbortSignal): Promise<boolean> {
  return Promise.race([promise.then(() => false), clock.sleep(ms, signal).then(() => true)]);
}
