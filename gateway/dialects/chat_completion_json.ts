/** OpenAI Chat Completions: replies of the own model as JSON. */
import type { Answer, JsonObject, ModelCall, Reply } from "./dialect.ts";

function message({ parsed, toolCalls }: Reply): JsonObject {
  return {
    role: "assistant",
    content: parsed.content,
    refusal: null,
    ...(parsed.reasoningContent === null ? {} : { reasoning_content: parsed.reasoningContent }),
    ...(toolCalls.length === 0 ? {} : { tool_calls: toolCalls }),
  };
}

/** The chosen tokens; the likeliest alternatives are not computed, so `top_logprobs` is empty. */
export function tokenLogprobs({ tokens }: Reply, tokenText: (id: number) => string): JsonObject[] {
  return Array.from(tokens.replyIds, (id, at) => {
    const token = tokenText(id);
    const bytes = [...new TextEncoder().encode(token)];
    return { token, logprob: tokens.logprobs[at], bytes, top_logprobs: [] };
  });
}

/** A `chat.completion`; token ids stand where vLLM puts them. */
export function writeCompletion(answer: Answer, call: ModelCall): JsonObject {
  const { id, created, model, replies, showTokenIds } = answer;
  const choices = replies.map((reply, index) => ({
    index,
    message: message(reply),
    logprobs: call.logprobs ? { content: tokenLogprobs(reply, answer.tokenText), refusal: null } : null,
    finish_reason: reply.toolCalls.length > 0 ? "tool_calls" : reply.finishReason,
    ...(showTokenIds ? { token_ids: [...reply.tokens.replyIds] } : {}),
  }));
  const promptTokens = replies[0]?.tokens.promptIds.length ?? 0;
  const completionTokens = replies.reduce((sum, { tokens }) => sum + tokens.replyIds.length, 0);
  return {
    id: `chatcmpl-${id}`,
    object: "chat.completion",
    created,
    model,
    choices,
    usage: {
      prompt_tokens: promptTokens,
      completion_tokens: completionTokens,
      total_tokens: promptTokens + completionTokens,
      prompt_tokens_details: { cached_tokens: replies[0]?.cachedTokens ?? 0 },
    },
    ...(showTokenIds ? { prompt_token_ids: [...(replies[0]?.tokens.promptIds ?? [])] } : {}),
  };
}
