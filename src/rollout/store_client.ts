import type { Clock } from "../core/clock.ts";
import type {
  AgentAccess,
  FailedCall,
  RolloutChange,
  RolloutChanges,
  RolloutClient,
} from "../schema/rollout_client.ts";
import type { LogEntry, Store } from "../schema/store.ts";
import type { EventCreate, Rollout, RolloutEvent, RolloutState, StatusPatch } from "../schema/wire.ts";
import { agentAccess } from "./agent_access.ts";

/** What a controller in the gateway's own process works with. */
export interface StoreClientDeps {
  store: Store;
  clock: Clock;
  /** Address of the gateway as agents reach it. */
  gatewayUrl: string;
  /** The key the agent of an attempt is given. */
  keyOf(rolloutId: string, attemptId: string): string | Promise<string>;
  /** Calls of an attempt that wait for their reply; absent: not known. */
  waitingCalls?(rolloutId: string, attemptId: string): number;
}

const changesAtOnce = 1_000;

const kinds: Readonly<Partial<Record<LogEntry["type"], RolloutChange["kind"]>>> = {
  rollout_created: "created",
  rollout_patched: "patched",
  rollout_deleted: "deleted",
  event_posted: "activity",
  call_recorded: "activity",
  call_delivery: "activity",
  call_failed: "activity",
};

/** The gateway's store as a controller sees it: changes arrive without polling. */
export class StoreClient implements RolloutClient {
  readonly reportsActivity = true;
  private readonly deps: StoreClientDeps;

  constructor(deps: StoreClientDeps) {
    this.deps = deps;
  }

  list(states: readonly RolloutState[]): Promise<Rollout[]> {
    return this.deps.store.rollouts({ states });
  }

  get(rolloutId: string): Promise<Rollout | null> {
    return this.deps.store.rollout(rolloutId);
  }

  async patch(rolloutId: string, patch: StatusPatch): Promise<void> {
    await this.deps.store.append([{ type: "rollout_patched", rolloutId, patch, at: this.now() }]);
  }

  async postEvent(rolloutId: string, attemptId: string, create: EventCreate): Promise<void> {
    const event: RolloutEvent = {
      event_type: create.event_type,
      rollout_id: rolloutId,
      attempt_id: attemptId,
      timestamp: this.now(),
      data: create.data ?? {},
    };
    const eventId = create.event_id ?? undefined;
    await this.deps.store.append([{ type: "event_posted", event, ...(eventId === undefined ? {} : { eventId }) }]);
  }

  events(rolloutId: string, attemptId: string): Promise<RolloutEvent[]> {
    return this.deps.store.events(rolloutId, attemptId);
  }

  async failedCalls(rolloutId: string, attemptId: string): Promise<FailedCall[]> {
    const failures = await this.deps.store.failures(rolloutId);
    return failures.filter((failed) => failed.attemptId === attemptId);
  }

  cursor(): Promise<number> {
    return this.deps.store.seq();
  }

  async watch(cursor: number, signal: AbortSignal): Promise<RolloutChanges> {
    await this.deps.store.changed(cursor, signal);
    const entries = await this.deps.store.log(cursor, changesAtOnce);
    const changes = entries.flatMap(({ type, rolloutId }): RolloutChange[] => {
      const kind = kinds[type];
      return kind === undefined ? [] : [{ rolloutId, kind }];
    });
    return { cursor: entries.at(-1)?.seq ?? cursor, changes };
  }

  async access(rollout: Rollout, attemptId: string): Promise<AgentAccess> {
    const key = await this.deps.keyOf(rollout.rollout_id, attemptId);
    return agentAccess(this.deps.gatewayUrl, rollout, attemptId, key);
  }

  waitingCalls(rolloutId: string, attemptId: string): number {
    return this.deps.waitingCalls?.(rolloutId, attemptId) ?? 0;
  }

  private now(): number {
    return this.deps.clock.now() / 1000;
  }
}
