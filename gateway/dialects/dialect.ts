/** What a wire format of model calls has to know; one file each. */
import type { ChatMessage, ChatRequest, ParsedReply, ToolCall } from "../../src/schema/chat.ts";
import type { TopLogprobs } from "../../src/schema/engine.ts";
import type { CallTokens } from "../../src/schema/store.ts";
import type { ApiError } from "../http/errors.ts";
import type { ReplyForm } from "./reply_form.ts";

/** JSON as it crosses the wire. */
export type JsonObject = Record<string, unknown>;

/** How the harness wants tokens drawn; undefined where it does not say. */
export interface WantedSampling {
  temperature?: number;
  topP?: number;
  topK?: number;
  minP?: number;
  frequencyPenalty?: number;
  presencePenalty?: number;
  repetitionPenalty?: number;
  /** Pairs of token id and bias. */
  logitBias?: readonly (readonly [id: number, bias: number])[];
}

/** A prompt that is continued as it stands, without a chat template: a text, or token ids. */
export type RawPrompt = string | readonly number[];

/** A request of a dialect in common terms. */
export interface ModelCall {
  /** The model asked for; null when the request names none. */
  model: string | null;
  chat: ChatRequest;
  /** Prompts to be continued as they stand, in place of the chat. */
  prompts?: readonly RawPrompt[];
  /** How many of the first messages are instructions for this call alone; none by default. */
  instructions?: number;
  sampling: WantedSampling;
  /** Longest reply in tokens; null leaves it to the room in the context. */
  maxTokens: number | null;
  stop: string[];
  /** Number of replies to draw for this prompt. */
  n: number;
  stream: boolean;
  /** Whether the reply shows log-probabilities. */
  logprobs: boolean;
  /** How many of the likeliest tokens the reply shows at each place, 0 to 20. */
  topLogprobs: number;
  /** What the reply has to be: calls of tools, JSON, or anything. */
  form: ReplyForm;
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
  /** The stop text that ended it; null when something else did. */
  stopString: string | null;
  cachedTokens: number;
  /** What the reply costs, as its model counts. */
  promptTokens: number;
  completionTokens: number;
  /** True when a grammar kept it to the form that was asked for. */
  constrained: boolean;
  topLogprobs?: TopLogprobs;
}

/** What the answer to a call is made of; several replies are siblings. */
export interface Answer {
  /** Of the recorded call, the first one's of siblings. */
  id: string;
  /** Seconds since the epoch, a whole number. */
  created: number;
  model: string;
  replies: readonly Reply[];
  tokenText(id: number): string;
  tokenBytes(id: number): Uint8Array;
  showTokenIds: boolean;
}

/** An earlier call of the attempt. */
export interface PastCall {
  id: string;
  /** Its conversation without the instructions that were for that call alone. */
  messages: readonly ChatMessage[];
  reply: ChatMessage | null;
}

/** The earlier calls of an attempt, for requests that refer to them instead of repeating them. */
export interface PastCalls {
  past(callId: string): PastCall | null;
  /** The call whose reply made the tool call of this id. */
  pastOfToolCall(toolCallId: string): PastCall | null;
}

/** One wire format. */
export interface Dialect {
  /** As recorded with each call. */
  readonly name: string;
  /** A comment that keeps a waiting stream alive; null where clients cannot bear one. */
  readonly keepAlive: string | null;
  /** What the ids of tool calls begin with, as the dialect's clients know them. */
  readonly toolCallPrefix: string;
  /** @throws ApiError 400 */
  read(body: JsonObject): ModelCall;
  /**
   * The call with what it refers to in its place, where the dialect has references; `read` then leaves messages out.
   * @throws ApiError 400 for what is not there
   */
  resolve?(call: ModelCall, past: PastCalls): ModelCall;
  /** The whole answer as one JSON value. */
  write(answer: Answer, call: ModelCall): JsonObject;
  /** The parts of a stream, terminator included, that say what the JSON says. */
  stream(json: JsonObject, call: ModelCall): string[];
  /** Content type of a stream that is none of server-sent events; null for one that is. */
  streamType?(call: ModelCall): string | null;
  /** Why a reply ended, in the dialect's words. */
  finishReason(json: JsonObject): string | null;
  /** The assistant's message in a recorded reply; null when there is none. */
  replyMessage(json: unknown): ChatMessage | null;
  error(error: ApiError): JsonObject;
}
