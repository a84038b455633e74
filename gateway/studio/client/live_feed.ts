import type { Clock } from "../../../src/core/clock.ts";
import type { RunStatus } from "../../../src/schema/run_control.ts";
import type { StudioChanges } from "../../../src/schema/studio_api.ts";
import type { StudioApi } from "./api.ts";

/** Shortest time between two tellings: a run at work changes hundreds of times a second. */
const pauseMs = 700;
/** How long nothing is asked after a request failed. */
const retryMs = 3000;

/** Follows what happens in the run, and tells whoever listens. */
export class LiveFeed {
  private readonly api: StudioApi;
  private readonly clock: Clock;
  private readonly listeners = new Set<(changes: StudioChanges) => void>();
  private readonly stop = new AbortController();
  /** Where the run stands; null where nobody steers it. */
  status: RunStatus | null;
  /** False while the gateway does not answer. */
  connected = true;

  constructor(api: StudioApi, clock: Clock, status: RunStatus | null) {
    this.api = api;
    this.clock = clock;
    this.status = status;
    if (api.isLive) void this.follow();
  }

  /** Calls `told` with what happened, until the returned function is called. */
  subscribe(told: (changes: StudioChanges) => void): () => void {
    this.listeners.add(told);
    return () => this.listeners.delete(told);
  }

  close(): void {
    this.stop.abort();
    this.listeners.clear();
  }

  private async follow(): Promise<void> {
    const { signal } = this.stop;
    let cursor = -1;
    while (!signal.aborted) {
      try {
        const changes = await this.api.changes(cursor, this.status, signal);
        const isNew = cursor >= 0;
        cursor = changes.cursor;
        const told = changes.rollouts.length > 0 || changes.updated || !this.connected;
        const moved = JSON.stringify(changes.status) !== JSON.stringify(this.status);
        this.connected = true;
        this.status = changes.status;
        if ((isNew && told) || moved) this.tell(changes);
        if (isNew) await this.clock.sleep(pauseMs, signal);
      } catch {
        if (signal.aborted) return;
        if (this.connected) {
          this.connected = false;
          this.tell({ cursor, rollouts: [], updated: false, status: this.status });
        }
        await this.clock.sleep(retryMs, signal).catch(() => {});
      }
    }
  }

  private tell(changes: StudioChanges): void {
    for (const listener of [...this.listeners]) listener(changes);
  }
}
