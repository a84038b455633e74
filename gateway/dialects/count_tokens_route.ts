/** Counts of a prompt's tokens, without a call of the model: Anthropic's and Gemini's. */
import type { Context } from "hono";
import type { ChatRequest } from "../../src/schema/chat.ts";
import { type Gateway, pathParam } from "../context.ts";
import { readObject } from "../http/body.ts";
import { ApiError } from "../http/errors.ts";
import { attemptPrefix, type Routes } from "../http/routes.ts";
import type { Dialect, JsonObject } from "./dialect.ts";
import { gemini, readGeminiChat } from "./gemini.ts";
import { geminiCountPaths } from "./gemini_paths.ts";
import { messages } from "./messages.ts";
import { callerOf, errorResponse } from "./model_routes.ts";
import { withReadableResults } from "./tool_results.ts";

/** A dialect's count: where it is asked for, the chat it is asked of, and the reply. */
interface Count {
  dialect: Dialect;
  paths: readonly string[];
  read(body: JsonObject): ChatRequest;
  /** The model asked for, in the body or in the address. */
  model(body: JsonObject, call: string): string | null;
  write(tokens: number): JsonObject;
}

/** The whole request may stand in a field of its own. */
function readGeminiCount(body: JsonObject): ChatRequest {
  const whole = body.generateContentRequest ?? body.generate_content_request;
  return readGeminiChat(typeof whole === "object" && whole !== null ? (whole as JsonObject) : body);
}

const counts: readonly Count[] = [
  {
    dialect: messages,
    paths: ["/v1/messages/count_tokens", "/messages/count_tokens"],
    read: (body) => messages.read(body).chat,
    model: ({ model }) => (typeof model === "string" ? model : null),
    write: (tokens) => ({ input_tokens: tokens }),
  },
  {
    dialect: gemini,
    paths: geminiCountPaths,
    read: readGeminiCount,
    model: (_, call) => call.replace(/:[^:]*$/, ""),
    write: (totalTokens) => ({ totalTokens }),
  },
];

async function count(context: Context, gateway: Gateway, { dialect, read, model, write }: Count): Promise<Response> {
  try {
    const principal = await gateway.principal(context);
    if (!principal) throw new ApiError(401, "invalid_api_key", "Invalid or missing API key");
    const body = await readObject(context.req.raw, gateway.config.limits.bodyBytes);
    const asked = read(body);
    const chat = { ...asked, messages: withReadableResults(asked.messages) };
    const caller = await callerOf(context, gateway, principal);
    return Response.json(write(await gateway.calls.countTokens(caller, chat, model(body, pathParam(context, "call")))));
  } catch (thrown) {
    return errorResponse(dialect, thrown, gateway);
  }
}

export function addCountTokensRoutes(routes: Routes, gateway: Gateway): void {
  for (const one of counts) {
    for (const path of one.paths) {
      for (const prefix of ["", attemptPrefix]) {
        const summary = `Count a prompt's tokens (${one.dialect.name})`;
        routes.add("POST", `${prefix}${path}`, summary, (c) => count(c, gateway, one));
      }
    }
  }
}
