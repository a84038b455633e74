/** OpenAI Completions: replies of the own model as JSON, and as the chunks of a stream. */
import { tokenLogprobs, usageOf } from "./chat_completion_json.ts";
import type { Answer, JsonObject, ModelCall, RawPrompt, Reply } from "./dialect.ts";

/** The lists that this older API has in place of a list of tokens; offsets count characters of the reply. */
function logprobsOf(reply: Reply, answer: Answer, call: ModelCall): JsonObject {
  const content = tokenLogprobs(reply, answer);
  const tokens = content.map(({ token }) => String(token));
  let offset = 0;
  const offsets = tokens.map((token) => {
    const at = offset;
    offset += token.length;
    return at;
  });
  const tops = content.map(({ top_logprobs: top }) =>
    Object.fromEntries((top as JsonObject[]).map(({ token, logprob }) => [String(token), logprob])),
  );
  return {
    tokens,
    token_logprobs: content.map(({ logprob }) => logprob),
    top_logprobs: call.topLogprobs > 0 ? tops : null,
    text_offset: offsets,
  };
}

/** Ids are joined as bytes: a character may lie over several of them. */
function promptText(prompt: RawPrompt | undefined, { tokenBytes }: Answer): string {
  if (typeof prompt === "string") return prompt;
  const bytes = (prompt ?? []).flatMap((id) => [...tokenBytes(id)]);
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(Uint8Array.from(bytes));
}

/** A `text_completion`: the replies to each prompt in turn. */
export function writeTextCompletion(answer: Answer, call: ModelCall): JsonObject {
  const { id, created, model, replies, showTokenIds } = answer;
  const choices = replies.map((reply, index) => {
    const echoed = call.body.echo === true ? promptText(call.prompts?.[Math.floor(index / call.n)], answer) : "";
    return {
      index,
      text: echoed + (reply.parsed.content ?? ""),
      logprobs: call.logprobs ? logprobsOf(reply, answer, call) : null,
      finish_reason: reply.finishReason,
      ...(showTokenIds ? { token_ids: [...reply.tokens.replyIds], prompt_token_ids: [...reply.tokens.promptIds] } : {}),
    };
  });
  return { id: `cmpl-${id}`, object: "text_completion", created, model, choices, usage: usageOf(replies) };
}

/** The events of a stream that says what a `text_completion` says, `[DONE]` included. */
export function streamTextCompletion(json: JsonObject, call: ModelCall): string[] {
  const { id, created, model, usage } = json;
  const wantsUsage = Boolean((call.body.stream_options as { include_usage?: unknown } | null)?.include_usage);
  const chunk = (choices: JsonObject[], more: JsonObject) =>
    `data: ${JSON.stringify({ id, object: "text_completion", created, model, choices, ...more })}\n\n`;
  const choices = (Array.isArray(json.choices) ? json.choices : []) as JsonObject[];
  const parts = choices.map(({ token_ids: ids, prompt_token_ids: promptIds, ...choice }) => ({
    ...choice,
    ...(call.tokenIds === true ? { token_ids: ids, prompt_token_ids: promptIds } : {}),
  }));
  const events = parts.map((choice) => chunk([choice], wantsUsage ? { usage: null } : {}));
  if (wantsUsage) events.push(chunk([], { usage: usage ?? null }));
  return [...events, "data: [DONE]\n\n"];
}
