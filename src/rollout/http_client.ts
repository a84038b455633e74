import type { Clock } from "../core/clock.ts";
import { CancelledError, LeydenError } from "../core/errors.ts";
import type {
  AgentAccess,
  FailedCall,
  RolloutChange,
  RolloutChanges,
  RolloutClient,
} from "../schema/rollout_client.ts";
import {
  type EventCreate,
  type Rollout,
  type RolloutDetail,
  type RolloutEvent,
  type RolloutState,
  rolloutEventSchema,
  rolloutSchema,
  type StatusPatch,
} from "../schema/wire.ts";
import { changesAnswerSchema, failuresAnswerSchema, keyAnswerSchema } from "../schema/wire_changes.ts";
import { agentAccess } from "./agent_access.ts";

/** A controller on another machine than its gateway, Leyden's or Agent Lightning's. */
export interface HttpClientDeps {
  fetch: typeof fetch;
  clock: Clock;
  gatewayUrl: string;
  /** Address of the gateway as agents reach it; default: the same. */
  agentUrl?: string;
  /** The gateway's own key; "" where it asks for none. */
  key: string;
  /** The key an agent is given; default: one the gateway makes for the attempt, or its own where it makes none. */
  keyOf?(rolloutId: string, attemptId: string): Promise<string>;
  /** "agl" for a gateway that only knows Agent Lightning's paths. */
  dialects: "all" | "agl";
  /** Between two looks at the list of a gateway that does not tell of changes, in milliseconds. */
  pollMs: number;
}

const listLimit = 5_000;
const requestMs = 30_000;
/** How long a gateway that tells of changes holds a question back, in seconds; shorter than a request may take. */
const waitSeconds = 20;

const codes: Readonly<Record<number, string>> = { 404: "rollout_not_found", 409: "illegal_transition" };

/**
 * Agent Lightning's wire protocol from the controller's side. Leyden's gateway also tells of changes as they come, gives
 * each attempt a key and lists failed calls; with any other one the client polls and does without.
 */
export class HttpClient implements RolloutClient {
  /** Whether the gateway tells of changes; known once the cursor was asked for. */
  private tells = false;
  private readonly deps: HttpClientDeps;
  private readonly base: string;
  /** Status version of every unfinished rollout at the last look. */
  private seen = new Map<string, number>();

  constructor(deps: HttpClientDeps) {
    this.deps = deps;
    this.base = deps.gatewayUrl.replace(/\/+$/, "");
  }

  get reportsActivity(): boolean {
    return this.tells;
  }

  async list(states: readonly RolloutState[]): Promise<Rollout[]> {
    const query = new URLSearchParams(states.map((state) => ["state_in", state]));
    query.set("limit", String(listLimit));
    return rolloutSchema.array().parse(await this.request("GET", `/api/rollouts?${query}`));
  }

  async get(rolloutId: string): Promise<Rollout | null> {
    try {
      const detail = (await this.request("GET", `/api/rollouts/${encodeURIComponent(rolloutId)}`)) as RolloutDetail;
      return rolloutSchema.parse(detail.rollout);
    } catch (thrown) {
      if (thrown instanceof LeydenError && thrown.code === "rollout_not_found") return null;
      throw thrown;
    }
  }

  async patch(rolloutId: string, status: StatusPatch): Promise<void> {
    await this.request("PATCH", `/api/rollouts/${encodeURIComponent(rolloutId)}`, { status });
  }

  async postEvent(rolloutId: string, attemptId: string, event: EventCreate): Promise<void> {
    const path = `/api/rollouts/${encodeURIComponent(rolloutId)}/attempt/${encodeURIComponent(attemptId)}/events`;
    await this.request("POST", path, event);
  }

  async events(rolloutId: string, attemptId: string): Promise<RolloutEvent[]> {
    const found = await this.request("GET", `/api/rollouts/${encodeURIComponent(rolloutId)}/events`);
    const events = rolloutEventSchema.array().parse(found);
    return events.filter((event) => event.attempt_id === attemptId);
  }

  async failedCalls(rolloutId: string, attemptId: string): Promise<FailedCall[]> {
    if (!this.tells) return [];
    const answer = await this.request("GET", `/api/rollouts/${encodeURIComponent(rolloutId)}/calls`);
    const { failures } = failuresAnswerSchema.parse(answer);
    const own = failures.filter(({ attempt }) => attempt === attemptId);
    return own.map(({ http_status: httpStatus, timestamp }) => ({ httpStatus, timestamp }));
  }

  async cursor(): Promise<number> {
    const now = await this.changes(-1, 0);
    this.tells = now !== null;
    if (now !== null) return now.cursor;
    this.seen = await this.look();
    return 0;
  }

  async watch(cursor: number, signal: AbortSignal): Promise<RolloutChanges> {
    return this.tells ? await this.waitForChanges(cursor, signal) : await this.poll(cursor, signal);
  }

  private async waitForChanges(cursor: number, signal: AbortSignal): Promise<RolloutChanges> {
    for (let after = cursor; ; ) {
      const told = await this.changes(after, waitSeconds, signal);
      if (signal.aborted) throw new CancelledError("Watching the gateway");
      if (told === null) {
        throw new LeydenError("gateway_refused", "The gateway no longer tells of changes.", {
          do: "Check that its address still leads to the same gateway.",
        });
      }
      if (told.changes.length > 0) return told;
      after = told.cursor;
    }
  }

  /** What happened after a cursor; -1 asks where the cursor stands. Null: this gateway does not tell. */
  private async changes(after: number, seconds: number, signal?: AbortSignal): Promise<RolloutChanges | null> {
    const path = `/api/changes?after=${after}&wait_seconds=${seconds}`;
    let answer: unknown;
    try {
      answer = await this.request("GET", path, undefined, signal);
    } catch (thrown) {
      if (thrown instanceof LeydenError && thrown.data.status === 404) return null;
      throw thrown;
    }
    const read = changesAnswerSchema.safeParse(answer);
    if (!read.success) return null;
    const changes = read.data.changes.map(({ rollout_id: rolloutId, kind }) => ({ rolloutId, kind }));
    return { cursor: read.data.cursor, changes };
  }

  private async poll(cursor: number, signal: AbortSignal): Promise<RolloutChanges> {
    for (;;) {
      await this.deps.clock.sleep(this.deps.pollMs, signal);
      const before = this.seen;
      this.seen = await this.look();
      const changes: RolloutChange[] = [];
      for (const [rolloutId, version] of this.seen) {
        const last = before.get(rolloutId);
        if (last === undefined) changes.push({ rolloutId, kind: "created" });
        else if (last !== version) changes.push({ rolloutId, kind: "patched" });
      }
      // Finished or deleted: a look at the rollout itself tells which.
      for (const rolloutId of before.keys()) {
        if (!this.seen.has(rolloutId)) changes.push({ rolloutId, kind: "patched" });
      }
      if (changes.length > 0) return { cursor: cursor + changes.length, changes };
    }
  }

  async access(rollout: Rollout, attemptId: string): Promise<AgentAccess> {
    const { agentUrl, keyOf, dialects } = this.deps;
    const agentKey = await (keyOf?.(rollout.rollout_id, attemptId) ?? this.attemptKey(rollout.rollout_id, attemptId));
    return agentAccess(agentUrl ?? this.base, rollout, attemptId, agentKey, dialects);
  }

  /** A key that opens this attempt alone, where the gateway makes such keys. */
  private async attemptKey(rolloutId: string, attemptId: string): Promise<string> {
    if (this.deps.dialects === "agl") return this.deps.key;
    const path = `/api/rollouts/${encodeURIComponent(rolloutId)}/attempt/${encodeURIComponent(attemptId)}/key`;
    return keyAnswerSchema.parse(await this.request("POST", path)).key;
  }

  waitingCalls(): number {
    return 0;
  }

  private async look(): Promise<Map<string, number>> {
    const rollouts = await this.list(["queuing", "running"]);
    return new Map(rollouts.map(({ rollout_id: id, status }) => [id, status.version]));
  }

  private async request(method: string, path: string, body?: unknown, stop?: AbortSignal): Promise<unknown> {
    const headers: Record<string, string> = { "content-type": "application/json" };
    if (this.deps.key !== "") headers.authorization = `Bearer ${this.deps.key}`;
    const late = AbortSignal.timeout(requestMs);
    const signal = stop === undefined ? late : AbortSignal.any([stop, late]);
    let response: Response;
    try {
      response = await this.deps.fetch(`${this.base}${path}`, { method, headers, body: JSON.stringify(body), signal });
    } catch (cause) {
      if (stop?.aborted) throw new CancelledError(`${method} ${path}`);
      throw new LeydenError("gateway_unreachable", `${method} ${this.base}${path} got no answer.`, {
        do: "Check the gateway's address and that it runs.",
        cause,
      });
    }
    const text = await response.text();
    if (response.ok) return text === "" ? null : JSON.parse(text);
    throw new LeydenError(
      codes[response.status] ?? "gateway_refused",
      `${method} ${path} was answered ${response.status}: ${text.slice(0, 300)}`,
      { do: response.status === 401 ? "Check the key." : "", data: { status: response.status } },
    );
  }
}
