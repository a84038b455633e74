/** OpenAI Responses: replies of the own model as JSON. */
import { tokenLogprobs } from "./chat_completion_json.ts";
import type { Answer, JsonObject, ModelCall, Reply } from "./dialect.ts";
import { encryptedContent, itemId, responseId } from "./responses_ids.ts";
import { namespaceOf } from "./responses_tools.ts";

function includes({ body }: ModelCall, name: string): boolean {
  return Array.isArray(body.include) && body.include.includes(name);
}

/** Thinking stands in the summary, where every harness looks for it and whence most send it back. */
function reasoningItem(text: string, callId: string, call: ModelCall): JsonObject {
  return {
    id: itemId({ kind: "reasoning", callId, index: 0 }),
    type: "reasoning",
    summary: [{ type: "summary_text", text }],
    ...(includes(call, "reasoning.encrypted_content") ? { encrypted_content: encryptedContent(callId) } : {}),
  };
}

function output(answer: Answer, call: ModelCall, reply: Reply): JsonObject[] {
  const { content, reasoningContent } = reply.parsed;
  const callId = answer.id;
  const isCut = reply.finishReason === "length";
  const items: JsonObject[] = [];
  if (reasoningContent !== null) items.push(reasoningItem(reasoningContent, callId, call));
  if (content !== null && (content !== "" || reply.toolCalls.length === 0)) {
    const logprobs = call.logprobs ? tokenLogprobs(reply, answer) : [];
    items.push({
      id: itemId({ kind: "message", callId, index: 0 }),
      type: "message",
      status: isCut && reply.toolCalls.length === 0 ? "incomplete" : "completed",
      role: "assistant",
      content: [{ type: "output_text", text: content, annotations: [], logprobs }],
    });
  }
  for (const [index, { id, function: called }] of reply.toolCalls.entries()) {
    items.push({
      id: itemId({ kind: "function_call", callId, index }),
      type: "function_call",
      status: "completed",
      call_id: id,
      ...namespaceField(called.name, call.body),
      name: called.name,
      arguments: called.arguments,
    });
  }
  return items;
}

/** Harnesses find a function of a group by both names. */
function namespaceField(name: string, body: JsonObject): JsonObject {
  const namespace = namespaceOf(name, body);
  return namespace === null ? {} : { namespace };
}

/** Tokens until the text of the thinking is whole; its markers before it count. */
function reasoningTokens({ parsed, tokens }: Reply, tokenText: (id: number) => string): number {
  const { reasoningContent, text } = parsed;
  if (!reasoningContent) return 0;
  const end = text.indexOf(reasoningContent) + reasoningContent.length;
  let length = 0;
  const whole = tokens.replyIds.findIndex((id) => {
    length += tokenText(id).length;
    return length >= end;
  });
  return whole < 0 ? tokens.replyIds.length : whole + 1;
}

function usage(reply: Reply, tokenText: (id: number) => string): JsonObject {
  const { promptTokens: inputTokens, completionTokens: outputTokens } = reply;
  return {
    input_tokens: inputTokens,
    input_tokens_details: { cached_tokens: reply.cachedTokens },
    output_tokens: outputTokens,
    output_tokens_details: { reasoning_tokens: reasoningTokens(reply, tokenText) },
    total_tokens: inputTokens + outputTokens,
  };
}

/** What a response repeats of its request. */
function echoed(body: JsonObject, isFollowed: boolean): JsonObject {
  return {
    instructions: body.instructions ?? null,
    max_output_tokens: body.max_output_tokens ?? null,
    metadata: body.metadata ?? {},
    parallel_tool_calls: body.parallel_tool_calls ?? true,
    previous_response_id: body.previous_response_id ?? null,
    reasoning: body.reasoning ?? { effort: null, summary: null },
    store: body.store ?? true,
    temperature: body.temperature ?? null,
    text: (isFollowed && body.text) || { format: { type: "text" } },
    tool_choice: body.tool_choice ?? "auto",
    tools: body.tools ?? [],
    top_p: body.top_p ?? null,
    truncation: "disabled",
  };
}

/** A `response` that has ended. */
export function writeResponse(answer: Answer, call: ModelCall): JsonObject {
  const [reply] = answer.replies;
  const isCut = reply?.finishReason === "length";
  return {
    id: responseId(answer.id),
    object: "response",
    created_at: answer.created,
    status: isCut ? "incomplete" : "completed",
    background: false,
    error: null,
    incomplete_details: isCut ? { reason: "max_output_tokens" } : null,
    model: answer.model,
    ...echoed(call.body, reply?.constrained ?? false),
    output: reply ? output(answer, call, reply) : [],
    usage: reply ? usage(reply, answer.tokenText) : null,
  };
}
