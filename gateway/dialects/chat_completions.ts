/** OpenAI Chat Completions: reading requests. What is unknown is ignored, as every harness sends some of it. */
import {
  type ChatMessage,
  chatMessageSchema,
  type ToolDefinition,
  toolDefinitionSchema,
} from "../../src/schema/chat.ts";
import { writeCompletion } from "./chat_completion_json.ts";
import { streamCompletion } from "./chat_completion_stream.ts";
import type { Dialect, JsonObject, ModelCall } from "./dialect.ts";
import { integer, invalid, number, stopTexts } from "./request_fields.ts";

/** Fields the own model cannot follow yet; they are recorded as overridden unless they ask for nothing. */
const unsupported = [
  "frequency_penalty",
  "presence_penalty",
  "repetition_penalty",
  "logit_bias",
  "seed",
  "response_format",
];

const maxReplies = 128;

function readMessages(body: JsonObject): ChatMessage[] {
  const { messages } = body;
  if (!Array.isArray(messages))
    throw invalid("messages", "Missing required parameter: 'messages', a list of messages.");
  if (messages.length === 0)
    throw invalid("messages", "Invalid 'messages': the list is empty. Send at least one message.");
  return messages.map((message: unknown, at) => {
    const result = chatMessageSchema.safeParse(message);
    if (result.success) return result.data;
    const [issue] = result.error.issues;
    const place = ["messages", at, ...(issue?.path ?? [])].join(".");
    throw invalid(place, `Invalid '${place}': ${issue?.message ?? "not a message"}.`);
  });
}

/** Function tools; others, such as a server's own web search, cannot be served and are left out. */
function readTools(body: JsonObject): ToolDefinition[] | null {
  const { tools, tool_choice: choice } = body;
  if (tools === undefined || tools === null || choice === "none") return null;
  if (!Array.isArray(tools)) throw invalid("tools", "Invalid 'tools': expected a list of tools.");
  const functions = tools.filter((tool: unknown) => (tool as { type?: unknown } | null)?.type === "function");
  const read = functions.map((tool: unknown, at) => {
    const result = toolDefinitionSchema.safeParse(tool);
    if (result.success) return result.data;
    const [issue] = result.error.issues;
    const place = ["tools", at, ...(issue?.path ?? [])].join(".");
    throw invalid(place, `Invalid '${place}': ${issue?.message ?? "not a tool"}.`);
  });
  return read.length === 0 ? null : read;
}

function asksForNothing(value: unknown): boolean {
  if (value === undefined || value === null || value === 0) return true;
  if (typeof value !== "object") return false;
  return Object.keys(value).length === 0 || (value as JsonObject).type === "text";
}

function readIgnored(body: JsonObject): JsonObject {
  const fields = unsupported.filter((name) => !asksForNothing(body[name])).map((name) => [name, body[name]]);
  const { tool_choice: choice } = body;
  // Forcing a call takes constrained decoding; "auto" and "none" are followed.
  if (choice !== undefined && choice !== null && choice !== "auto" && choice !== "none")
    fields.push(["tool_choice", choice]);
  if (body.repetition_penalty === 1)
    return Object.fromEntries(fields.filter(([name]) => name !== "repetition_penalty"));
  return Object.fromEntries(fields);
}

function templateArgs(body: JsonObject): JsonObject | null {
  const value = body.chat_template_kwargs;
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as JsonObject) : null;
}

function read(body: JsonObject): ModelCall {
  return {
    chat: { messages: readMessages(body), tools: readTools(body), templateArgs: templateArgs(body) },
    sampling: {
      temperature: number(body, "temperature", 0, Number.POSITIVE_INFINITY),
      topP: number(body, "top_p", 0, 1),
      topK: integer(body, "top_k", -1),
      minP: number(body, "min_p", 0, 1),
    },
    maxTokens: integer(body, "max_completion_tokens", 1) ?? integer(body, "max_tokens", 1) ?? null,
    stop: stopTexts(body, "stop"),
    n: integer(body, "n", 1, maxReplies) ?? 1,
    stream: Boolean(body.stream),
    logprobs: Boolean(body.logprobs),
    tokenIds: typeof body.return_token_ids === "boolean" ? body.return_token_ids : null,
    ignored: readIgnored(body),
    body,
  };
}

function firstChoice(json: unknown): JsonObject | null {
  const choices = (json as JsonObject | null)?.choices;
  const choice: unknown = Array.isArray(choices) ? choices[0] : null;
  return typeof choice === "object" && choice !== null ? (choice as JsonObject) : null;
}

/** `POST /v1/chat/completions`. */
export const chatCompletions: Dialect = {
  name: "chat_completions",
  keepAlive: ": keepalive\n\n",
  toolCallPrefix: "call_",
  read,
  write: writeCompletion,
  stream: streamCompletion,
  finishReason(json) {
    const reason = firstChoice(json)?.finish_reason;
    return typeof reason === "string" && reason !== "" ? reason : null;
  },
  replyMessage(json) {
    const result = chatMessageSchema.safeParse(firstChoice(json)?.message);
    return result.success ? result.data : null;
  },
  error: (error) => error.openAi(),
};
