/** OpenAI Chat Completions: reading requests. What is unknown is ignored, as every harness sends some of it. */
import {
  type ChatMessage,
  chatMessageSchema,
  type ToolDefinition,
  toolDefinitionSchema,
} from "../../src/schema/chat.ts";
import { writeCompletion } from "./chat_completion_json.ts";
import { streamCompletion } from "./chat_completion_stream.ts";
import type { Dialect, JsonObject, ModelCall, WantedSampling } from "./dialect.ts";
import {
  autoChoice,
  type OutputFormat,
  type ReplyForm,
  requireOffered,
  schemaFormat,
  strictness,
  type ToolChoice,
} from "./reply_form.ts";
import { integer, invalid, logitBias, number, stopTexts } from "./request_fields.ts";

/** Replies that one request may ask for. */
export const maxReplies = 128;

interface Forced {
  type?: unknown;
  function?: { name?: unknown } | null;
  allowed_tools?: { mode?: unknown; tools?: ({ function?: { name?: unknown } | null } | null)[] } | null;
}

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
  const { tools, tool_choice: choice, functions: old } = body;
  if (Array.isArray(old) && old.length > 0 && (tools === undefined || tools === null)) {
    throw invalid("functions", "'functions' is not supported: 'tools' took its place. Offer the functions there.");
  }
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

/** A call that has to be made, by OpenAI's several ways of naming it. @throws ApiError 400 */
function readChoice({ tool_choice: choice }: JsonObject): ToolChoice {
  if (choice === "none" || choice === "required") return { mode: choice, names: null };
  if (choice === undefined || choice === null || choice === "auto") return autoChoice;
  const { type, function: named, allowed_tools: allowed } = (typeof choice === "object" ? choice : {}) as Forced;
  if (type === "function" && typeof named?.name === "string") return { mode: "required", names: [named.name] };
  if (type === "allowed_tools" && Array.isArray(allowed?.tools)) {
    const names = allowed.tools.flatMap((tool) =>
      typeof tool?.function?.name === "string" ? [tool.function.name] : [],
    );
    return { mode: allowed.mode === "required" ? "required" : "auto", names };
  }
  throw invalid("tool_choice", `Invalid 'tool_choice': expected "none", "auto", "required" or a function to call.`);
}

/** @throws ApiError 400 */
function readFormat({ response_format: format }: JsonObject): OutputFormat {
  if (format === undefined || format === null) return { kind: "text" };
  const { type, json_schema: named } = (typeof format === "object" ? format : {}) as JsonObject;
  if (type === "text") return { kind: "text" };
  if (type === "json_object") return { kind: "json_object" };
  const schema = (named as JsonObject | null | undefined)?.schema;
  if (type === "json_schema" && typeof named === "object" && named !== null)
    return schemaFormat(schema, "response_format.json_schema.schema");
  throw invalid(
    "response_format",
    `Invalid 'response_format': expected a type of "text", "json_object" or "json_schema", the last with a schema.`,
  );
}

function readForm(body: JsonObject, tools: readonly ToolDefinition[] | null): ReplyForm {
  const choice = readChoice(body);
  const format = readFormat(body);
  const parallelCalls = body.parallel_tool_calls !== false;
  requireOffered(choice, tools, "tool_choice");
  const functions = (tools ?? []).map((tool) => tool.function as { name: string; strict?: unknown });
  const { strict, fields: strictFields } = strictness(functions.map((one) => [one.name, one.strict]));
  const fields = {
    ...strictFields,
    ...(format.kind === "text" ? {} : { response_format: body.response_format }),
    ...(choice.mode === "required" || choice.names ? { tool_choice: body.tool_choice } : {}),
    ...(parallelCalls ? {} : { parallel_tool_calls: false }),
  };
  return { choice, format, parallelCalls, strict, fields };
}

/** What the harness wants of the draw. @throws ApiError 400 */
export function readSampling(body: JsonObject): WantedSampling {
  return {
    temperature: number(body, "temperature", 0, Number.POSITIVE_INFINITY),
    topP: number(body, "top_p", 0, 1),
    topK: integer(body, "top_k", -1),
    minP: number(body, "min_p", 0, 1),
    frequencyPenalty: number(body, "frequency_penalty", -2, 2),
    presencePenalty: number(body, "presence_penalty", -2, 2),
    repetitionPenalty: number(body, "repetition_penalty", 0, Number.POSITIVE_INFINITY),
    logitBias: logitBias(body, "logit_bias"),
  };
}

/** A seed changes nothing where the gateway derives every draw; it is recorded as not followed. */
export function readIgnored({ seed }: JsonObject): JsonObject {
  return seed === undefined || seed === null ? {} : { seed };
}

/** Replies are text, whatever else is asked for. */
function readIgnoredMedia({ modalities, audio }: JsonObject): JsonObject {
  const isText = modalities === undefined || modalities === null || JSON.stringify(modalities) === '["text"]';
  return { ...(isText ? {} : { modalities }), ...(audio === undefined || audio === null ? {} : { audio }) };
}

function templateArgs(body: JsonObject): JsonObject | null {
  const value = body.chat_template_kwargs;
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as JsonObject) : null;
}

function read(body: JsonObject): ModelCall {
  const tools = readTools(body);
  return {
    model: typeof body.model === "string" ? body.model : null,
    chat: { messages: readMessages(body), tools, templateArgs: templateArgs(body) },
    sampling: readSampling(body),
    maxTokens: integer(body, "max_completion_tokens", 1) ?? integer(body, "max_tokens", 1) ?? null,
    stop: stopTexts(body, "stop"),
    n: integer(body, "n", 1, maxReplies) ?? 1,
    stream: Boolean(body.stream),
    logprobs: Boolean(body.logprobs),
    topLogprobs: body.logprobs ? (integer(body, "top_logprobs", 0, 20) ?? 0) : 0,
    form: readForm(body, tools),
    tokenIds: typeof body.return_token_ids === "boolean" ? body.return_token_ids : null,
    ignored: { ...readIgnored(body), ...readIgnoredMedia(body) },
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
