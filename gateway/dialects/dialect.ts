/** What a wire format of model calls has to know; one file each. */
import type { ChatMessage, ChatRequest, ParsedReply, ToolCall } from "../../src/schema/chat.ts";
import type { CallTokens } from "../../src/schema/store.ts";
import type { ApiError } from "../http/errors.ts";

/** JSON as it crosses the wire. */
export type JsonObject = Record<string, unknown>;

/** How the harness wants tokens drawn; undefined where it does not say. */
export interface WantedSampling {
  temperature?: number;
  topP?: number;
  topK?: number;
  minP?: number;
}

/** A request of a dialect in common terms. */
export interface ModelCall {
  chat: ChatRequest;
  sampling: WantedSampling;
  /** Longest reply in tokens; null leaves it to the room in the context. */
  maxTokens: number | null;
  stop: string[];
  /** Number of replies to draw for this prompt. */
  n: number;
  stream: boolean;
  /** Whether the reply shows log-probabilities. */
  logprobs: boolean;
  /** Whether a stream shows token ids. */
  tokenIds: boolean | null;
  /** Fields that the own model does not follow, and that are therefore recorded as overridden. */
  ignored: JsonObject;
  body: JsonObject;
}

/** One reply of the own model in common terms. */
export interface Reply {
  tokens: CallTokens;
  parsed: ParsedReply;
  /** The reply's tool calls with their ids. */
  toolCalls: ToolCall[];
  finishReason: "stop" | "length";
  cachedTokens: number;
}

/** What the answer to a call is made of; several replies are siblings. */
export interface Answer {
  id: string;
  /** Seconds since the epoch, a whole number. */
  created: number;
  model: string;
  replies: readonly Reply[];
  tokenText(id: number): string;
  showTokenIds: boolean;
}

/** One wire format. */
export interface Dialect {
  /** As recorded with each call. */
  readonly name: string;
  /** A comment that keeps a waiting stream alive; null where clients cannot bear one. */
  readonly keepAlive: string | null;
  /** @throws ApiError 400 */
  read(body: JsonObject): ModelCall;
  /** The whole answer as one JSON value. */
  write(answer: Answer, call: ModelCall): JsonObject;
  /** The parts of a stream, terminator included, that say what the JSON says. */
  stream(json: JsonObject, call: ModelCall): string[];
  /** Why a reply ended, in the dialect's words. */
  finishReason(json: JsonObject): string | null;
  /** The assistant's message in a recorded reply; null when there is none. */
  replyMessage(json: unknown): ChatMessage | null;
  error(error: ApiError): JsonObject;
}
