/** Calls from admission to a recorded answer, whoever answers them. */
import type { CancelledError } from "../../src/core/errors.ts";
import type { ChatRequest } from "../../src/schema/chat.ts";
import type { Rollout } from "../../src/schema/wire.ts";
import type { ModelEndpoint } from "../../src/schema/wire_proxy.ts";
import { Endpoints } from "../agent_lightning/endpoints.ts";
import { UpstreamError } from "../agent_lightning/forward.ts";
import { PauseGate } from "../agent_lightning/pause_gate.ts";
import type { GatewayConfig } from "../config.ts";
import type { GatewayDeps } from "../deps.ts";
import type { JsonObject } from "../dialects/dialect.ts";
import { ApiError } from "../http/errors.ts";
import { type Answered, unwatched } from "./answered.ts";
import { Attempts } from "./attempts.ts";
import { ForeignModel } from "./foreign_model.ts";
import type { Identity } from "./identity.ts";
import { type Owner, OwnModel } from "./own_model.ts";
import { Recorder } from "./recorder.ts";

/** A rollout's call, before its attempt is loaded. */
export interface Caller {
  rollout: Rollout;
  identity: Identity;
}

/** The gateway is paused: 429 with Agent Lightning's headers. */
export class PausedError extends ApiError {
  readonly reason: string | null;

  constructor(retryAfterSeconds: number, reason: string | null) {
    const headers = { "retry-after": String(retryAfterSeconds), "x-agl-paused": "true" };
    super(429, "paused", "The gateway is paused while the policy is updated. Try again.", { headers });
    this.reason = reason;
  }
}

/** Who answers a call; `isPolicy` for the policy, which alone is trained. */
export type Server = { isPolicy: boolean } & (
  | { kind: "own"; model: OwnModel }
  | { kind: "endpoint"; endpoint: ModelEndpoint }
);

/** Everything that answers model calls. */
export class Calls {
  readonly gate: PauseGate = new PauseGate();
  readonly endpoints: Endpoints;
  readonly foreign: ForeignModel;
  readonly recorder: Recorder;
  private readonly own: OwnModel | null;
  private readonly policies: ReadonlyMap<string, OwnModel>;
  private readonly others: ReadonlyMap<string, OwnModel>;
  private readonly attempts: Attempts;
  private readonly config: GatewayConfig;
  private readonly deps: GatewayDeps;
  private readonly stopping = new AbortController();
  private draining = false;

  constructor(deps: GatewayDeps, config: GatewayConfig) {
    const { store, clock, entropy, model, others = {}, policies = {} } = deps;
    this.deps = deps;
    this.config = config;
    const recorder = new Recorder(store, clock);
    this.recorder = recorder;
    this.endpoints = new Endpoints(store, clock);
    this.attempts = new Attempts(store, config.limits.attempts);
    const common = { config, clock, entropy, recorder };
    this.own = model && new OwnModel({ ...common, model, name: config.modelName, isPolicy: true });
    this.policies = new Map(
      Object.entries(policies).map(([name, one]) => [
        name,
        new OwnModel({ ...common, model: one, name, isPolicy: true }),
      ]),
    );
    this.others = new Map(
      Object.entries(others).map(([name, one]) => [
        name,
        new OwnModel({ ...common, model: one, name, isPolicy: false }),
      ]),
    );
    const fetch = deps.fetch ?? ((url: string, init: RequestInit) => globalThis.fetch(url, init));
    const timeoutMs = config.limits.upstreamTimeoutMs;
    this.foreign = new ForeignModel({ clock, entropy, recorder, fetch, timeoutMs });
  }

  /**
   * Who answers a rollout's calls. Models are known by their exact names or an alias; any other name means the policy,
   * which a registered endpoint serves, else the own model. Null when there is neither.
   */
  async serverFor(rolloutId: string, asked: string | null = null): Promise<Server | null> {
    const { modelName, aliases } = this.config;
    const name = asked === null ? modelName : (aliases[asked] ?? asked);
    const policy = this.policies.get(name);
    if (policy) return { kind: "own", model: policy, isPolicy: true };
    const other = this.others.get(name);
    if (other) return { kind: "own", model: other, isPolicy: false };
    const named = name === modelName ? null : await this.endpoints.choose(name, rolloutId);
    if (named) return { kind: "endpoint", endpoint: named, isPolicy: false };
    const endpoint = await this.endpoints.choose(modelName, rolloutId);
    if (endpoint) return { kind: "endpoint", endpoint, isPolicy: true };
    return this.own && { kind: "own", model: this.own, isPolicy: true };
  }

  /** Names of the models that answer, the policy first. */
  async names(): Promise<string[]> {
    const { modelName, aliases } = this.config;
    const known = [
      ...this.policies.keys(),
      ...this.others.keys(),
      ...(await this.endpoints.names()),
      ...Object.keys(aliases),
    ];
    return [...new Set([modelName, ...known])];
  }

  /** Tokens that the policy's context holds; null where an endpoint serves it. */
  async context(): Promise<number | null> {
    return this.own && (await this.own.context());
  }

  /** Fires when the client goes away or the gateway stops. */
  signalOf(request: Request): AbortSignal {
    return AbortSignal.any([request.signal, this.stopping.signal]);
  }

  /** @throws PausedError at once when the gateway is paused */
  refuseWhilePaused(): void {
    const { paused, retry_after_seconds: seconds, reason } = this.gate.state();
    if (paused) throw new PausedError(seconds, reason);
  }

  /** Waits while the gateway is paused. @throws PausedError when that takes too long; CancelledError */
  async holdWhilePaused(signal: AbortSignal): Promise<void> {
    if (!this.gate.state().paused) return;
    const timer = new AbortController();
    const opened = this.gate.opened(AbortSignal.any([signal, timer.signal]));
    const late = this.deps.clock.sleep(this.config.limits.pausedHoldMs, timer.signal).then(
      () => this.refuseWhilePaused(),
      (_: CancelledError) => {},
    );
    try {
      await Promise.race([opened, late]);
      await opened;
    } finally {
      timer.abort();
      opened.catch(() => {});
    }
  }

  /** Runs a call outside any rollout; nothing is recorded. */
  async runUnowned(answer: () => Promise<Answered>): Promise<Answered> {
    this.admit();
    return await this.gate.count(answer);
  }

  /**
   * How many tokens the prompt of a request has for the model it asks for, the policy where an endpoint serves that.
   * @throws ApiError 404 where no model of our own can count them
   */
  async countTokens(caller: Caller | null, chat: ChatRequest, asked: string | null): Promise<number> {
    const server = await this.serverFor(caller?.identity.rolloutId ?? "", asked);
    const own = server?.kind === "own" ? server.model : this.own;
    if (!own) throw new ApiError(404, "no_model", "This gateway serves no model whose tokens it could count.");
    if (!caller) return await own.countTokens(chat, null);
    const { rollout, identity } = caller;
    return await this.attempts.use(rollout, identity.attemptId, (attempt) => own.countTokens(chat, attempt));
  }

  /** Runs an admitted call of a rollout: counts it, and notes in its attempt when it comes to nothing. */
  async run({ rollout, identity }: Caller, answer: (owner: Owner) => Promise<Answered>): Promise<Answered> {
    this.admit();
    return await this.gate.count(() =>
      this.attempts.use(rollout, identity.attemptId, async (attempt) => {
        const startedAt = this.deps.clock.monotonic();
        try {
          return await answer({ identity, attempt });
        } catch (thrown) {
          const retries = thrown instanceof UpstreamError ? thrown.retryCount : 0;
          const latencyMs = this.deps.clock.monotonic() - startedAt;
          await this.recorder.recordFailure(identity, thrown, latencyMs, retries);
          throw thrown;
        }
      }),
    );
  }

  /** @throws ApiError 503 before anything was done, when the gateway stops or has more calls than it holds */
  private admit(): void {
    if (this.draining) throw unavailable("shutting_down", "The gateway is shutting down. Try again.");
    const { inflight } = this.gate.state();
    if (inflight < this.config.limits.waitingCalls) return;
    throw unavailable("overloaded", `The gateway holds ${inflight} calls, as many as it takes. Try again.`);
  }

  /** Answers a call with an error that the attempt's events show, as they show an upstream's. */
  async refuse({ identity }: Owner, request: JsonObject, httpStatus: number, response: JsonObject): Promise<Answered> {
    const server = { model: this.config.modelName, endpoint: "engine", version: 0 };
    const refusal = { server, request, response, httpStatus, latencyMs: 0, retryCount: 0 };
    await this.recorder.recordRefusal(identity, refusal);
    return { status: httpStatus, json: response, watch: unwatched };
  }

  /** Calls of an attempt that wait for their reply. */
  waiting(rolloutId: string, attemptId: string): number {
    return this.attempts.waiting(rolloutId, attemptId);
  }

  /** Admits no further calls and waits for those under way; ends the rest after `limitMs`. True when none was left. */
  async drain(limitMs: number): Promise<boolean> {
    this.draining = true;
    const end = this.deps.clock.monotonic() + limitMs;
    while (this.gate.state().inflight > 0 && this.deps.clock.monotonic() < end) await this.deps.clock.sleep(20);
    const isDone = this.gate.state().inflight === 0;
    this.stopping.abort();
    return isDone;
  }
}

function unavailable(code: string, message: string): ApiError {
  return new ApiError(503, code, message, { headers: { "retry-after": "1" } });
}
