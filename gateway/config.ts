import { knownSideRules, type SideRule } from "./calls/side_rules.ts";

/** Sizes and times that bound what one request may cost. */
export interface GatewayLimits {
  /** Longest request body in bytes; a longer one is answered 413. */
  bodyBytes: number;
  /** How long the headers of a stream wait for its reply. After that the stream begins and is kept alive. */
  holdHeadersMs: number;
  /** Distance of the comments that keep a waiting stream alive. */
  keepAliveMs: number;
  /** How long a call waits while the gateway is paused, before it is answered 429; Agent Lightning's proxy never waits. */
  pausedHoldMs: number;
  /** Time limit of one try of a forwarded call. */
  upstreamTimeoutMs: number;
  /** Calls that wait for their replies at once; further ones are answered 503. */
  waitingCalls: number;
  /** Attempts whose recorded calls are kept in memory. */
  attempts: number;
}

/** What the gateway does; all plain values. */
export interface GatewayConfig {
  /** The admin's key; empty turns authentication off. */
  key: string;
  /** Name of the policy, in replies and in `POST /api/models`. */
  modelName: string;
  /** Further names of models: what a harness asks for, and the model that is meant. */
  aliases: Readonly<Record<string, string>>;
  /** Calls that are answered and recorded, and not trained. */
  sideCalls: readonly SideRule[];
  /** Temperatures of the two modes; what the harness asks for is recorded, not used. */
  trainTemperature: number;
  valTemperature: number;
  /** Whether Agent Lightning's proxy asks for logprobs in train mode. */
  includeLogProbs: boolean;
  /** Whether replies of the own model carry `prompt_token_ids` and `token_ids`; streams do only when asked. */
  includeTokenIds: boolean;
  /** Seed of every draw of the own model. */
  seed: number;
  limits: GatewayLimits;
}

/** What a configuration leaves out. */
export const gatewayDefaults: Readonly<GatewayConfig> = Object.freeze({
  key: "",
  modelName: "policy",
  aliases: Object.freeze({}),
  sideCalls: knownSideRules,
  trainTemperature: 1,
  valTemperature: 0.7,
  includeLogProbs: true,
  includeTokenIds: true,
  seed: 0,
  limits: Object.freeze({
    bodyBytes: 32 * 2 ** 20,
    holdHeadersMs: 20_000,
    keepAliveMs: 10_000,
    pausedHoldMs: 120_000,
    upstreamTimeoutMs: 300_000,
    waitingCalls: 4096,
    attempts: 1024,
  }),
});

/** A configuration with its gaps filled. */
export interface GatewayOptions extends Partial<Omit<GatewayConfig, "limits">> {
  limits?: Partial<GatewayLimits>;
}

/** The options over the defaults. */
export function gatewayConfig({ limits, ...options }: GatewayOptions): GatewayConfig {
  return { ...gatewayDefaults, ...options, limits: { ...gatewayDefaults.limits, ...limits } };
}
