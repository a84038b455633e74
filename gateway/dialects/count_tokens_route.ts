/** Anthropic's count of a prompt's tokens, without a call of the model. */
import type { Context } from "hono";
import type { Gateway } from "../context.ts";
import { readObject } from "../http/body.ts";
import { ApiError } from "../http/errors.ts";
import type { Routes } from "../http/routes.ts";
import { messages } from "./messages.ts";
import { attemptPrefix, callerOf, errorResponse } from "./model_routes.ts";

async function countTokens(context: Context, gateway: Gateway): Promise<Response> {
  try {
    const principal = await gateway.principal(context);
    if (!principal) throw new ApiError(401, "invalid_api_key", "Invalid or missing API key");
    const { chat } = messages.read(await readObject(context.req.raw, gateway.config.limits.bodyBytes));
    const caller = await callerOf(context, gateway, principal);
    return Response.json({ input_tokens: await gateway.calls.countTokens(caller, chat) });
  } catch (thrown) {
    return errorResponse(messages, thrown, gateway);
  }
}

export function addCountTokensRoutes(routes: Routes, gateway: Gateway): void {
  for (const prefix of ["", attemptPrefix]) {
    const path = `${prefix}/v1/messages/count_tokens`;
    routes.add("POST", path, "Count a prompt's tokens (messages)", (c) => countTokens(c, gateway));
  }
}
