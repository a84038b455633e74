/** What a gateway and its codec's worker say to each other. */
import type { ExitCode } from "../core/errors.ts";
import type { ChatRequest, ContinuedCall, PromptAddition } from "../schema/chat.ts";
import type { Sent } from "./sent_objects.ts";

/** A request whose messages and tools may be at the other end already. */
export interface SentRequest {
  readonly messages: readonly Sent[];
  readonly tools: Sent | null;
  readonly templateArgs: ChatRequest["templateArgs"];
}

/** What the other end needs of a recorded call. */
export interface SentCall extends Pick<ContinuedCall, "id" | "reply"> {
  readonly request: SentRequest;
  readonly promptLength: number;
  readonly replyIds: Int32Array;
}

/** One thing to encode. */
export interface CodecCall {
  readonly request?: readonly [request: SentRequest, recorded: readonly SentCall[]];
  readonly text?: readonly [text: string, continues: boolean];
}

/** What became of it. */
export interface CodecReply {
  readonly addition?: PromptAddition;
  readonly ids?: Int32Array;
  /** Objects that the call named are no longer here. */
  readonly missing?: true;
  readonly error?: { code: string; message: string; do: string; data: Record<string, unknown>; exitCode: ExitCode };
}

/** Calls that are answered together, by their number. */
export interface CodecCalls {
  readonly kind: "codec_calls";
  readonly number: number;
  readonly calls: readonly CodecCall[];
}

/** The answers, in the calls' order. */
export interface CodecReplies {
  readonly kind: "codec_replies";
  readonly number: number;
  readonly replies: readonly CodecReply[];
}
