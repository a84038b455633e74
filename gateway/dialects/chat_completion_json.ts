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

/** How tokens are shown. */
type TokenTexts = Pick<Answer, "tokenText" | "tokenBytes">;

function tokenLogprob(id: number, logprob: number | undefined, texts: TokenTexts): JsonObject {
  return { token: texts.tokenText(id), logprob, bytes: [...texts.tokenBytes(id)] };
}

/** The likeliest tokens at one place; fewer where fewer have any probability. */
function alternatives({ topLogprobs }: Reply, at: number, texts: TokenTexts): JsonObject[] {
  if (!topLogprobs) return [];
  const { count, ids, logprobs } = topLogprobs;
  const places = Array.from({ length: count }, (_, rank) => at * count + rank);
  return places.flatMap((place) => {
    const id = ids[place] ?? -1;
    return id < 0 ? [] : [tokenLogprob(id, logprobs[place], texts)];
  });
}

/** The chosen tokens, and the likeliest ones in their places where the call asks for some. */
export function tokenLogprobs(reply: Reply, texts: TokenTexts): JsonObject[] {
  const { replyIds, logprobs } = reply.tokens;
  return Array.from(replyIds, (id, at) => ({
    ...tokenLogprob(id, logprobs[at], texts),
    top_logprobs: alternatives(reply, at, texts),
  }));
}

/** What replies cost together; siblings share their prompt, and are told apart by its ids. */
export function usageOf(replies: readonly Reply[]): JsonObject {
  const prompts = new Map(replies.map(({ tokens, promptTokens }) => [tokens.promptIds, promptTokens]));
  const promptTokens = [...prompts.values()].reduce((sum, count) => sum + count, 0);
  const completionTokens = replies.reduce((sum, reply) => sum + reply.completionTokens, 0);
  return {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
    prompt_tokens_details: { cached_tokens: replies[0]?.cachedTokens ?? 0 },
  };
}

/** A `chat.completion`; token ids stand where vLLM puts them. */
export function writeCompletion(answer: Answer, call: ModelCall): JsonObject {
  const { id, created, model, replies, showTokenIds } = answer;
  const choices = replies.map((reply, index) => ({
    index,
    message: message(reply),
    logprobs: call.logprobs ? { content: tokenLogprobs(reply, answer), refusal: null } : null,
    finish_reason: reply.toolCalls.length > 0 ? "tool_calls" : reply.finishReason,
    ...(showTokenIds ? { token_ids: [...reply.tokens.replyIds] } : {}),
  }));
  return {
    id: `chatcmpl-${id}`,
    object: "chat.completion",
    created,
    model,
    choices,
    usage: usageOf(replies),
    ...(showTokenIds ? { prompt_token_ids: [...(replies[0]?.tokens.promptIds ?? [])] } : {}),
  };
}
