/** OpenAI Responses beside the call itself: a response read again, and the WebSocket that is refused. */
import type { Context } from "hono";
import type { CallRecord } from "../../src/schema/store.ts";
import { type Gateway, pathParam, queryOf } from "../context.ts";
import { ApiError } from "../http/errors.ts";
import { attemptPrefix, type Routes } from "../http/routes.ts";
import { callerOf, errorResponse } from "./model_routes.ts";
import { refusePath } from "./refused_paths.ts";
import { responses } from "./responses.ts";
import { callOfResponse } from "./responses_ids.ts";

/** The recorded call of an attempt whose response has this id. */
async function recordedCall(context: Context, gateway: Gateway, id: string): Promise<CallRecord | undefined> {
  const principal = await gateway.principal(context);
  if (!principal) throw new ApiError(401, "invalid_api_key", "Invalid or missing API key");
  const callId = callOfResponse(id);
  const caller = await callerOf(context, gateway, principal);
  if (!caller || callId === null) return undefined;
  const calls = await gateway.store.calls(caller.identity.rolloutId, caller.identity.attemptId);
  return calls.find((call) => call.id === callId && call.dialect === responses.name);
}

async function retrieve(context: Context, gateway: Gateway): Promise<Response> {
  try {
    const id = pathParam(context, "response_id");
    if (queryOf(context).get("stream") === "true") {
      const message = "A response read again is not streamed. Leave 'stream' out.";
      throw new ApiError(400, "unsupported_parameter", message, { param: "stream" });
    }
    const call = await recordedCall(context, gateway, id);
    if (call) return Response.json(call.response);
    const message = `Response with id '${id}' not found. Only responses of the same attempt can be read.`;
    throw new ApiError(404, "response_not_found", message);
  } catch (thrown) {
    return errorResponse(responses, thrown, gateway);
  }
}

/** Clients that may use a WebSocket ask for it here and go on with POST when it is refused. */
function refuseUpgrade(context: Context, gateway: Gateway): Response {
  if (context.req.header("upgrade") === undefined) {
    return refusePath(context, 405, ["POST"]);
  }
  const message = "WebSockets are not served here. Send POST requests; replies stream as server-sent events.";
  const error = new ApiError(426, "upgrade_refused", message, { headers: { upgrade: "HTTP/1.1" } });
  return errorResponse(responses, error, gateway);
}

export function addResponseRoutes(routes: Routes, gateway: Gateway): void {
  for (const prefix of ["", attemptPrefix]) {
    routes.add("GET", `${prefix}/v1/responses`, "Refuses WebSockets", (c) => refuseUpgrade(c, gateway));
    routes.add("GET", `${prefix}/v1/responses/:response_id`, "Read a response again", (c) => retrieve(c, gateway));
  }
}
