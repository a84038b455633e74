/** Gemini's generateContent: reading requests. What is unknown is ignored, as every harness sends some of it. */
import type { ChatRequest } from "../../src/schema/chat.ts";
import { maxReplies } from "./chat_completions.ts";
import type { Dialect, JsonObject, ModelCall } from "./dialect.ts";
import { readContents, readInstruction, readModelTurn } from "./gemini_content.ts";
import { geminiError } from "./gemini_errors.ts";
import { streamGenerated, writeGenerated } from "./gemini_json.ts";
import { generationConfig, readForm, readTools, unservedTools } from "./gemini_tools.ts";
import { integer, invalid, number, stopTexts } from "./request_fields.ts";

/** @throws ApiError 400 */
export function readGeminiChat(body: JsonObject): ChatRequest {
  const instruction = readInstruction(body.systemInstruction ?? body.system_instruction, "systemInstruction");
  const turns = readContents(body.contents);
  if (turns.at(-1)?.role === "assistant") {
    throw invalid(
      "contents",
      "The conversation ends with a turn of the model, and this model does not complete one. End it with a user's turn.",
    );
  }
  const messages = instruction.length === 0 ? turns : [{ role: "system" as const, content: instruction }, ...turns];
  return { messages, tools: readTools(body), templateArgs: null };
}

function readIgnored(body: JsonObject, { seed, thinkingConfig }: JsonObject): JsonObject {
  const budget = (thinkingConfig as { thinkingBudget?: unknown } | null | undefined)?.thinkingBudget;
  return {
    ...unservedTools(body),
    ...(seed === undefined || seed === null ? {} : { seed }),
    // How long the model thinks, and whether, is its own choice: -1 asks for that.
    ...(budget === undefined || budget === null || budget === -1 ? {} : { thinkingConfig }),
    ...(body.cachedContent === undefined ? {} : { cachedContent: body.cachedContent }),
  };
}

function read(body: JsonObject): ModelCall {
  const config = generationConfig(body);
  const chat = readGeminiChat(body);
  const wantsLogprobs = config.responseLogprobs === true;
  return {
    model: typeof body.model === "string" ? body.model : null,
    chat,
    sampling: {
      temperature: number(config, "temperature", 0, Number.POSITIVE_INFINITY),
      topP: number(config, "topP", 0, 1),
      topK: number(config, "topK", 0, Number.MAX_SAFE_INTEGER),
      frequencyPenalty: number(config, "frequencyPenalty", -2, 2),
      presencePenalty: number(config, "presencePenalty", -2, 2),
    },
    maxTokens: integer(config, "maxOutputTokens", 1) ?? null,
    stop: stopTexts(config, "stopSequences"),
    n: integer(config, "candidateCount", 1, maxReplies) ?? 1,
    stream: body.stream === "sse" || body.stream === "array",
    logprobs: wantsLogprobs,
    topLogprobs: wantsLogprobs ? (integer(config, "logprobs", 0, 20) ?? 0) : 0,
    form: readForm(body, chat.tools ?? null),
    tokenIds: false,
    ignored: readIgnored(body, config),
    body,
  };
}

function firstCandidate(json: unknown): JsonObject | null {
  const candidates = (json as JsonObject | null)?.candidates;
  return Array.isArray(candidates) ? ((candidates[0] as JsonObject | undefined) ?? null) : null;
}

/** `POST /v1beta/models/MODEL:generateContent` and `:streamGenerateContent`. */
export const gemini: Dialect = {
  name: "gemini",
  // Its clients die of comments: the headers wait as long as it takes.
  keepAlive: null,
  toolCallPrefix: "call_",
  read,
  write: writeGenerated,
  stream: streamGenerated,
  streamType: ({ body }) => (body.stream === "array" ? "application/json; charset=utf-8" : null),
  finishReason(json) {
    const reason = firstCandidate(json)?.finishReason;
    return typeof reason === "string" ? reason : null;
  },
  replyMessage(json) {
    const content = firstCandidate(json)?.content;
    return content === undefined ? null : readModelTurn(content, "content");
  },
  error: geminiError,
};
