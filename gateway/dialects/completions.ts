/** OpenAI Completions: a prompt that is continued as it stands, for harnesses that write their own markup. */
import { maxReplies, readIgnored, readSampling } from "./chat_completions.ts";
import { streamTextCompletion, writeTextCompletion } from "./completions_json.ts";
import type { Dialect, JsonObject, ModelCall, RawPrompt } from "./dialect.ts";
import { freeForm } from "./reply_form.ts";
import { integer, invalid, stopTexts } from "./request_fields.ts";

/** OpenAI's own limit for a request that states none. */
const defaultMaxTokens = 16;

function isIdList(value: unknown): value is number[] {
  return (
    Array.isArray(value) && value.length > 0 && value.every((id) => Number.isInteger(id) && id >= 0 && id < 2 ** 31)
  );
}

/** One prompt or several, each a text or token ids. @throws ApiError 400 */
function readPrompts({ prompt }: JsonObject): RawPrompt[] {
  if (typeof prompt === "string") return [prompt];
  if (isIdList(prompt)) return [prompt];
  if (Array.isArray(prompt) && prompt.length > 0 && prompt.every((one) => typeof one === "string" || isIdList(one))) {
    return prompt as RawPrompt[];
  }
  throw invalid("prompt", "Invalid 'prompt': expected a text, token ids, or a list of them, not empty.");
}

function read(body: JsonObject): ModelCall {
  const prompts = readPrompts(body);
  const n = integer(body, "n", 1, maxReplies) ?? 1;
  if (prompts.length * n > maxReplies) {
    throw invalid("n", `Invalid 'n': ${prompts.length} prompts times ${n} are more than ${maxReplies} replies.`);
  }
  const { suffix, best_of: best } = body;
  if (typeof suffix === "string" && suffix !== "") {
    throw invalid("suffix", "'suffix' is not supported: the model only continues. Leave it out.");
  }
  if (typeof best === "number" && best !== n) {
    throw invalid("best_of", "'best_of' is not supported. Ask for 'n' replies and choose among them.");
  }
  // The proxy of Agent Lightning asks for logprobs by true, OpenAI's clients by their number.
  const wanted = body.logprobs === true ? 1 : body.logprobs === false ? undefined : integer(body, "logprobs", 0, 20);
  return {
    model: typeof body.model === "string" ? body.model : null,
    chat: { messages: [] },
    prompts,
    sampling: readSampling(body),
    maxTokens: integer(body, "max_tokens", 1) ?? defaultMaxTokens,
    stop: stopTexts(body, "stop"),
    n,
    stream: Boolean(body.stream),
    logprobs: wanted !== undefined,
    topLogprobs: typeof body.logprobs === "number" ? (wanted ?? 0) : 0,
    form: freeForm,
    tokenIds: typeof body.return_token_ids === "boolean" ? body.return_token_ids : null,
    ignored: readIgnored(body),
    body,
  };
}

function firstChoice(json: unknown): JsonObject | null {
  const choices = (json as JsonObject | null)?.choices;
  return Array.isArray(choices) ? ((choices[0] as JsonObject | undefined) ?? null) : null;
}

/** `POST /v1/completions`. */
export const completions: Dialect = {
  name: "completions",
  keepAlive: ": keepalive\n\n",
  toolCallPrefix: "call_",
  read,
  write: writeTextCompletion,
  stream: streamTextCompletion,
  finishReason(json) {
    const reason = firstChoice(json)?.finish_reason;
    return typeof reason === "string" && reason !== "" ? reason : null;
  },
  replyMessage(json) {
    const text = firstChoice(json)?.text;
    return typeof text === "string" ? { role: "assistant", content: text } : null;
  },
  error: (error) => error.openAi(),
};
