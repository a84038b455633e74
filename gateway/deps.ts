import type { Clock, Entropy } from "../src/core/clock.ts";
import type { ChatRequest, EncodedPrompt, RecordedCall } from "../src/schema/chat.ts";
import type { Engine } from "../src/schema/engine.ts";
import type { PageFiles } from "../src/schema/page_files.ts";
import type { RunControl } from "../src/schema/run_control.ts";
import type { ReplySource } from "../src/schema/script.ts";
import type { Store } from "../src/schema/store.ts";
import type { StudioSource } from "../src/schema/studio.ts";
import type { ChatCodec } from "../src/text/chat_format.ts";
import type { GatewayOptions } from "./config.ts";
import type { Room } from "./room/room.ts";

/** How a served model's tokens are text. What takes long may be done elsewhere: the gateway waits for it. */
export interface ServedCodec extends Pick<ChatCodec, "stopIds" | "parseReply" | "encodeReply" | "thinkingEnd"> {
  /** As in ChatCodec. */
  encodeRequest(request: ChatRequest, recorded: readonly RecordedCall[]): EncodedPrompt | Promise<EncodedPrompt>;
  /** As in ChatCodec. */
  encodeText(text: string, continues: boolean): Int32Array | Promise<Int32Array>;
}

/** A model of our own: an engine, and how its tokens are text. */
export interface ServedModel {
  engine: Engine;
  codec: ServedCodec;
  /** Text of one token, for logprobs in replies. */
  tokenText(id: number): string;
  /** Its bytes, of which a part of a character has some that are no text; absent: those of its text. */
  tokenBytes?(id: number): Uint8Array;
  /** Writes the replies; their tokens are forced through the engine. Absent: the model answers by itself. */
  script?: ReplySource;
  /** "null" for an engine that computes nothing: its calls are recorded as such and never trained. */
  policy?: "null";
}

/** What a gateway is made of. */
export interface GatewayDeps {
  store: Store;
  /** The policy. Null: calls are forwarded to registered endpoints, or refused. */
  model: ServedModel | null;
  /** Further policies by their exact names, trained like `model`, which answers any name that is not known. */
  policies?: Readonly<Record<string, ServedModel>>;
  /** Other models of our own by their exact names, such as "policy-frozen"; their calls are recorded, never trained. */
  others?: Readonly<Record<string, ServedModel>>;
  clock: Clock;
  entropy: Entropy;
  config?: GatewayOptions;
  /** How forwarded calls are sent. */
  fetch?: (url: string, init: RequestInit) => Promise<Response>;
  /** The last line of metrics.jsonl, where a training run is served; for /metrics. */
  runMetrics?: () => Readonly<Record<string, number | string | null>>;
  /** The run that the studio shows; absent: only the page and what steers a run are served. */
  studio?: StudioSource;
  /** Steers the run. */
  control?: RunControl;
  /** The built page, served under /studio/. */
  page?: PageFiles;
  /** The room whose members show their progress; absent: there is none. */
  room?: Room;
  /** Told of faults that nobody foresaw; they are answered as internal errors. */
  report?: (fault: unknown) => void;
}
