import type { Clock, Entropy } from "../src/core/clock.ts";
import type { Engine } from "../src/schema/engine.ts";
import type { Store } from "../src/schema/store.ts";
import type { ChatCodec } from "../src/text/chat_format.ts";
import type { GatewayOptions } from "./config.ts";

/** The own model: an engine, and how its tokens are text. */
export interface ServedModel {
  engine: Engine;
  codec: ChatCodec;
  /** Text of one token, for logprobs in replies. */
  tokenText(id: number): string;
}

/** What a gateway is made of. */
export interface GatewayDeps {
  store: Store;
  /** Null: calls are forwarded to registered endpoints, or refused. */
  model: ServedModel | null;
  clock: Clock;
  entropy: Entropy;
  config?: GatewayOptions;
  /** How forwarded calls are sent. */
  fetch?: (url: string, init: RequestInit) => Promise<Response>;
  /** Told of faults that nobody foresaw; they are answered as internal errors. */
  report?: (fault: unknown) => void;
}
