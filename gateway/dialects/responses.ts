/** OpenAI Responses: reading requests. What is unknown is ignored, as every harness sends some of it. */
import type { ChatMessage } from "../../src/schema/chat.ts";
import { isConversationItem, itemType, type ResponseItem, responseItemSchema } from "../../src/schema/responses.ts";
import { ApiError } from "../http/errors.ts";
import type { Dialect, JsonObject, ModelCall, PastCalls } from "./dialect.ts";
import { integer, invalid, number } from "./request_fields.ts";
import { conversationOf, noPast } from "./responses_conversation.ts";
import { callOfResponse } from "./responses_ids.ts";
import { writeResponse } from "./responses_json.ts";
import { streamResponse } from "./responses_stream.ts";
import { isServedTool, leftOut, readForm, readTools } from "./responses_tools.ts";

/** Fields that name a conversation, or a prompt, kept by OpenAI: without it there is nothing to answer. */
const refused = ["conversation", "prompt"];

function readInput({ input }: JsonObject): unknown[] {
  if (typeof input === "string") return [{ type: "message", role: "user", content: input }];
  if (Array.isArray(input)) return input;
  if (input === undefined || input === null) return [];
  throw invalid("input", "Invalid 'input': expected a text or a list of items.");
}

/** The conversation's items; of other types are those of tools that the own model does not have. */
function readItems(body: JsonObject): ResponseItem[] {
  return readInput(body).flatMap((item, at) => {
    const type = itemType(item);
    if (type !== null && !isConversationItem(type)) return [];
    const result = responseItemSchema.safeParse(item);
    if (result.success) return [result.data];
    const [issue] = result.error.issues;
    const place = ["input", at, ...(issue?.path ?? [])].join(".");
    throw invalid(place, `Invalid '${place}': ${issue?.message ?? "not an item"}.`);
  });
}

/** What the own model has not, and what it does not do. */
function readIgnored(body: JsonObject): JsonObject {
  const { tools, input, truncation } = body;
  const ignored: JsonObject = {
    ...leftOut("tools", tools, (tool) => (isServedTool(tool) ? null : (itemType(tool) ?? "unknown"))),
    ...leftOut("input", input, (item) => {
      const type = itemType(item);
      return type === null || isConversationItem(type) ? null : type;
    }),
  };
  if (body.background === true) ignored.background = true;
  if (truncation !== undefined && truncation !== null && truncation !== "disabled") ignored.truncation = truncation;
  return ignored;
}

function readInstructions({ instructions }: JsonObject): ChatMessage[] {
  if (instructions === undefined || instructions === null || instructions === "") return [];
  if (typeof instructions === "string") return [{ role: "system", content: instructions }];
  throw invalid("instructions", "Invalid 'instructions': expected a text.");
}

function read(body: JsonObject): ModelCall {
  for (const name of refused) {
    if (body[name] === undefined || body[name] === null) continue;
    const message = `'${name}' is not supported. Send the conversation in 'input', or use 'previous_response_id'.`;
    throw new ApiError(400, "unsupported_parameter", message, { param: name });
  }
  const tools = readTools(body);
  const logprobs = Array.isArray(body.include) && body.include.includes("message.output_text.logprobs");
  const topLogprobs = integer(body, "top_logprobs", 0, 20) ?? 0;
  return {
    model: typeof body.model === "string" ? body.model : null,
    // The messages take what was said before; see resolve.
    chat: { messages: [], tools },
    sampling: {
      temperature: number(body, "temperature", 0, Number.POSITIVE_INFINITY),
      topP: number(body, "top_p", 0, 1),
    },
    maxTokens: integer(body, "max_output_tokens", 1) ?? null,
    stop: [],
    n: 1,
    stream: Boolean(body.stream),
    logprobs: logprobs || topLogprobs > 0,
    topLogprobs,
    form: readForm(body, tools),
    tokenIds: null,
    ignored: readIgnored(body),
    body,
  };
}

/** What was said until the response that the request goes on from. */
function previousMessages({ previous_response_id: id }: JsonObject, past: PastCalls): ChatMessage[] {
  if (id === undefined || id === null) return [];
  const callId = typeof id === "string" ? callOfResponse(id) : null;
  const previous = callId === null ? null : past.past(callId);
  if (previous) return [...previous.messages, ...(previous.reply ? [previous.reply] : [])];
  const message = `Previous response with id ${JSON.stringify(id)} not found. Only responses of the same attempt are kept; send the whole conversation in 'input'.`;
  throw new ApiError(400, "previous_response_not_found", message, { param: "previous_response_id" });
}

function resolve(call: ModelCall, past: PastCalls): ModelCall {
  const instructions = readInstructions(call.body);
  const said = [...previousMessages(call.body, past), ...conversationOf(readItems(call.body), past)];
  if (said.length === 0) throw invalid("input", "Invalid 'input': nothing was said. Send a text or a list of items.");
  const messages = [...instructions, ...said];
  return { ...call, chat: { ...call.chat, messages }, instructions: instructions.length };
}

/** `POST /v1/responses`. */
export const responses: Dialect = {
  name: "responses",
  keepAlive: ": keepalive\n\n",
  toolCallPrefix: "call_",
  read,
  resolve,
  write: writeResponse,
  stream: streamResponse,
  finishReason({ status, incomplete_details: details }) {
    const reason = (details as { reason?: unknown } | null | undefined)?.reason ?? status;
    return typeof reason === "string" ? reason : null;
  },
  replyMessage(json) {
    const output = (json as { output?: unknown } | null)?.output;
    const items = (Array.isArray(output) ? output : []).map((item: unknown) => responseItemSchema.safeParse(item));
    return (
      conversationOf(
        items.flatMap(({ data }) => data ?? []),
        noPast,
      )[0] ?? null
    );
  },
  error(error) {
    const { error: said } = error.openAi();
    return { error: { ...said, param: said.param === "messages" ? "input" : said.param } };
  },
};
