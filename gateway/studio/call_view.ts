/** Recorded calls as the studio shows them. */
import type { CallLink } from "../../src/rl/trie/lineage.ts";
import type { ChatMessage } from "../../src/schema/chat.ts";
import type { CallRecord } from "../../src/schema/store.ts";
import type { StudioCall, StudioCallLine } from "../../src/schema/studio_api.ts";
import { messageText } from "../../src/text/message_text.ts";
import { dialectNamed } from "../dialects/registry.ts";
import { studioReply, studioTokens, type TokenBytes } from "./token_text.ts";

/** Characters of a preview. */
const previewLength = 160;

/** The message that the harness got; null when there is none to be read. */
export function deliveredMessage(call: CallRecord): ChatMessage | null {
  try {
    return dialectNamed(call.dialect)?.replyMessage(call.response) ?? null;
  } catch {
    // A forwarded reply holds whatever its endpoint sent.
    return null;
  }
}

/** The conversation of a call's request; empty where its form is not known. */
export function conversationOf(call: CallRecord): ChatMessage[] {
  try {
    return [...(dialectNamed(call.dialect)?.read(call.request).chat.messages ?? [])];
  } catch {
    return [];
  }
}

function textOf(message: ChatMessage | null): string {
  if (message === null) return "";
  let text = "";
  try {
    text = messageText(message) ?? "";
  } catch {
    // Parts that are no text have no preview.
  }
  const calls = (message.tool_calls ?? []).map((made) => `${made.function.name}(${made.function.arguments})`);
  return [text, ...calls].filter((part) => part !== "").join(" ");
}

function extremes(values: Int32Array): [number, number] | null {
  if (values.length === 0) return null;
  return [values.reduce((a, b) => Math.min(a, b)), values.reduce((a, b) => Math.max(a, b))];
}

/** A call without its tokens; `link` is its place among the rollout's calls, `parent` the call it continues. */
export function callLine(call: CallRecord, link: CallLink, parent: string | null): StudioCallLine {
  const { tokens } = call;
  const sum = tokens.logprobs.reduce((a, b) => a + b, 0);
  const preview = textOf(deliveredMessage(call));
  return {
    id: call.id,
    rollout: call.rolloutId,
    attempt: call.attemptId,
    parent,
    prefix: link.prefix,
    lineage: link.lineage,
    break: parent === null ? call.breakReason : null,
    side: call.side ?? null,
    dialect: call.dialect,
    policy: call.policy,
    own: call.own,
    endpoint: call.server.endpoint,
    agent: typeof call.request.model === "string" ? call.request.model : call.policy,
    promptTokens: tokens.promptIds.length,
    replyTokens: tokens.replyIds.length,
    meanLogprob: tokens.logprobs.length === 0 || !Number.isFinite(sum) ? null : sum / tokens.logprobs.length,
    versions: extremes(tokens.versions),
    finishReason: call.finishReason,
    delivery: call.delivery,
    truncated: call.truncated,
    constrained: call.constrained === true,
    sampling: call.sampling,
    overridden: call.overridden,
    httpStatus: call.httpStatus,
    retryCount: call.retryCount,
    latencyMs: call.latencyMs,
    timestamp: call.timestamp,
    preview: preview.length > previewLength ? `${preview.slice(0, previewLength)}…` : preview,
  };
}

/** A call with its tokens, those of the prompt from position `from` on. */
export function fullCall(call: CallRecord, line: StudioCallLine, from: number, bytesOf: TokenBytes | null): StudioCall {
  return {
    ...line,
    from,
    prompt: studioTokens(call.tokens.promptIds.subarray(from), bytesOf),
    reply: studioReply(call.tokens, bytesOf),
    messages: conversationOf(call),
    delivered: deliveredMessage(call),
  };
}
