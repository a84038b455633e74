/** Anthropic Messages: replies of the own model as JSON. */
import type { ToolCall } from "../../src/schema/chat.ts";
import { signatureOf } from "./call_signature.ts";
import type { Answer, JsonObject, Reply } from "./dialect.ts";
import { objectIn } from "./json_object.ts";

/** Arguments that are no object stand beside an empty one as they were sampled, so that nothing of them is lost. */
function toolUse({ id, function: { name, arguments: sampled } }: ToolCall): JsonObject {
  const input = objectIn(sampled);
  return { type: "tool_use", id, name, input: input ?? {}, ...(input ? {} : { partial_json: sampled }) };
}

function contentOf({ parsed, toolCalls }: Reply, callId: string): JsonObject[] {
  const { content, reasoningContent: thinking } = parsed;
  return [
    // Shown whatever `thinking` asks for: it is part of what was sampled, and comes back with the next turn.
    ...(thinking ? [{ type: "thinking", thinking, signature: signatureOf(callId) }] : []),
    ...(content ? [{ type: "text", text: content }] : []),
    ...toolCalls.map(toolUse),
  ];
}

function stopReason({ toolCalls, stopString, finishReason }: Reply): string {
  if (toolCalls.length > 0) return "tool_use";
  if (stopString !== null) return "stop_sequence";
  return finishReason === "length" ? "max_tokens" : "end_turn";
}

function usageOf({ promptTokens, completionTokens, cachedTokens }: Reply): JsonObject {
  return {
    input_tokens: promptTokens - cachedTokens,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: cachedTokens,
    output_tokens: completionTokens,
  };
}

/** A `message`; the dialect has one reply per call. */
export function writeMessage({ id, model, replies }: Answer): JsonObject {
  const reply = replies[0] as Reply;
  const reason = stopReason(reply);
  return {
    id: `msg_${id}`,
    type: "message",
    role: "assistant",
    model,
    content: contentOf(reply, id),
    stop_reason: reason,
    stop_sequence: reason === "stop_sequence" ? reply.stopString : null,
    usage: usageOf(reply),
  };
}
