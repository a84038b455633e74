/** Anthropic Messages: reading requests. What is unknown is ignored, as every harness sends some of it. */
import { type ChatMessage, type ToolDefinition, toolDefinitionSchema } from "../../src/schema/chat.ts";
import type { Dialect, JsonObject, ModelCall } from "./dialect.ts";
import { readAssistant, readText, readUser } from "./messages_content.ts";
import { messagesError, ThreadUnsupported } from "./messages_errors.ts";
import { writeMessage } from "./messages_json.ts";
import { streamMessage } from "./messages_stream.ts";
import {
  autoChoice,
  type OutputFormat,
  type ReplyForm,
  requireOffered,
  schemaFormat,
  strictness,
  type ToolChoice,
} from "./reply_form.ts";
import { integer, invalid, number, stopTexts } from "./request_fields.ts";

function readMessage(message: unknown, place: string): ChatMessage[] {
  const { role, content } = (message ?? {}) as JsonObject;
  const at = `${place}.content`;
  if (role === "user") return readUser(content, at);
  if (role === "assistant") return [readAssistant(content, at)];
  // Claude Code adds to its instructions as it goes.
  if (role === "system") return [{ role, content: readText(content, at) }];
  throw invalid(
    `${place}.role`,
    `Invalid '${place}.role': expected "user", "assistant" or "system", got ${JSON.stringify(role)}.`,
  );
}

function readMessages({ messages, system }: JsonObject): ChatMessage[] {
  if (!Array.isArray(messages))
    throw invalid("messages", "Missing required parameter: 'messages', a list of messages.");
  if (messages.length === 0)
    throw invalid("messages", "Invalid 'messages': the list is empty. Send at least one message.");
  const turns = messages.flatMap((message: unknown, at) => readMessage(message, `messages.${at}`));
  if (turns.at(-1)?.role === "assistant") {
    throw invalid(
      "messages",
      "The conversation ends with an assistant message, and this model does not complete one. End it with a user message.",
    );
  }
  const instructions = system === undefined || system === null ? "" : readText(system, "system");
  return instructions.length === 0 ? turns : [{ role: "system", content: instructions }, ...turns];
}

/** A tool with a schema of its own; the others are Anthropic's and known to its models alone. */
function isCustom(tool: unknown): boolean {
  const type = (tool as { type?: unknown } | null)?.type;
  return type === undefined || type === null || type === "custom";
}

function readTool(tool: unknown, at: number): ToolDefinition {
  const { name, description, input_schema: parameters } = (tool ?? {}) as JsonObject;
  const result = toolDefinitionSchema.safeParse({
    type: "function",
    function: { name, ...(description === undefined ? {} : { description }), parameters },
  });
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const [, key] = issue?.path ?? [];
  const place = `tools.${at}.${key === "parameters" ? "input_schema" : String(key)}`;
  throw invalid(place, `Invalid '${place}': ${issue?.message ?? "not a tool"}.`);
}

function readTools({ tools, tool_choice: choice }: JsonObject): ToolDefinition[] | null {
  if (tools === undefined || tools === null || (choice as JsonObject | null | undefined)?.type === "none") return null;
  if (!Array.isArray(tools)) throw invalid("tools", "Invalid 'tools': expected a list of tools.");
  const read = tools.flatMap((tool: unknown, at) => (isCustom(tool) ? [readTool(tool, at)] : []));
  return read.length === 0 ? null : read;
}

/** @throws ApiError 400 */
function readChoice(choice: JsonObject | null | undefined): ToolChoice {
  if (choice === undefined || choice === null) return autoChoice;
  const { type, name } = choice;
  if (type === "auto" || type === "none") return { mode: type, names: null };
  if (type === "any") return { mode: "required", names: null };
  if (type === "tool" && typeof name === "string") return { mode: "required", names: [name] };
  throw invalid(
    "tool_choice",
    `Invalid 'tool_choice': expected a type of "auto", "any", "none" or "tool" with a name.`,
  );
}

/** The format stands in `output_config`, or where the beta had it. */
function readFormat({ output_config: config, output_format: format }: JsonObject): OutputFormat {
  const asked = ((config as JsonObject | null | undefined)?.format ?? format) as JsonObject | null | undefined;
  return asked?.type === "json_schema" ? schemaFormat(asked.schema, "output_config.format.schema") : { kind: "text" };
}

function readForm(body: JsonObject, tools: readonly ToolDefinition[] | null): ReplyForm {
  const wanted = body.tool_choice as JsonObject | null | undefined;
  const choice = readChoice(wanted);
  const format = readFormat(body);
  const parallelCalls = !wanted?.disable_parallel_tool_use;
  requireOffered(choice, tools, "tool_choice");
  const listed = (Array.isArray(body.tools) ? body.tools : []) as (JsonObject | null)[];
  const { strict, fields } = strictness(listed.map((tool) => [tool?.name, tool?.strict]));
  if (choice.mode === "required" || !parallelCalls) fields.tool_choice = wanted;
  if (format.kind !== "text") {
    const name = (body.output_config as JsonObject | null | undefined)?.format ? "output_config" : "output_format";
    fields[name] = body[name];
  }
  return { choice, format, parallelCalls, strict, fields };
}

/** How long the model thinks, and whether, is its own choice: "adaptive" asks for that. */
function readIgnored({ output_config: config, thinking }: JsonObject): JsonObject {
  const { format: _, ...effort } = (config ?? {}) as JsonObject;
  return {
    ...(Object.keys(effort).length === 0 ? {} : { output_config: config }),
    ...(thinking && (thinking as JsonObject).type !== "adaptive" ? { thinking } : {}),
  };
}

function read(body: JsonObject): ModelCall {
  if (body.thread) throw new ThreadUnsupported();
  const tools = readTools(body);
  return {
    model: typeof body.model === "string" ? body.model : null,
    chat: { messages: readMessages(body), tools, templateArgs: null },
    sampling: {
      temperature: number(body, "temperature", 0, Number.POSITIVE_INFINITY),
      topP: number(body, "top_p", 0, 1),
      topK: integer(body, "top_k", 0),
    },
    maxTokens: integer(body, "max_tokens", 1) ?? null,
    stop: stopTexts(body, "stop_sequences"),
    n: 1,
    stream: Boolean(body.stream),
    logprobs: false,
    topLogprobs: 0,
    form: readForm(body, tools),
    tokenIds: false,
    ignored: readIgnored(body),
    body,
  };
}

/** `POST /v1/messages`. */
export const messages: Dialect = {
  name: "messages",
  keepAlive: ": keepalive\n\n",
  toolCallPrefix: "toolu_",
  read,
  write: writeMessage,
  stream: streamMessage,
  finishReason: ({ stop_reason: reason }) => (typeof reason === "string" ? reason : null),
  replyMessage(json) {
    const content = (json as JsonObject | null)?.content;
    return Array.isArray(content) ? readAssistant(content, "content") : null;
  },
  error: messagesError,
};
