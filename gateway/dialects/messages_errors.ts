/** Anthropic Messages: errors. */
import { ApiError, ContextLengthExceeded } from "../http/errors.ts";
import type { JsonObject } from "./dialect.ts";

/** Anthropic's families of errors by status. */
const types: Readonly<Record<number, string>> = {
  401: "authentication_error",
  403: "permission_error",
  404: "not_found_error",
  409: "conflict_error",
  413: "request_too_large",
  429: "rate_limit_error",
  504: "timeout_error",
};

/**
 * The request relies on messages that the server should have kept. Its code and what is unsupported make clients send
 * the whole conversation instead; any other refusal ends them.
 */
export class ThreadUnsupported extends ApiError {
  constructor() {
    super(
      400,
      "thread_unsupported_request",
      "This gateway keeps no message threads. Send the whole conversation without 'thread'.",
      { param: "thread" },
    );
  }
}

/** Clients know a prompt that is too long by these words. */
function messageOf(error: ApiError): string {
  if (!(error instanceof ContextLengthExceeded)) return error.message;
  return `prompt is too long: ${error.promptTokens} tokens > ${error.contextLength - 1} maximum`;
}

/** `{"type":"error","error":{"type","message","details"}}`; the stable code and the field stand in the details. */
export function messagesError(error: ApiError): JsonObject {
  const { code, param, status } = error;
  const details = {
    error_code: code,
    ...(param === null ? {} : { param }),
    ...(error instanceof ThreadUnsupported ? { unsupported: ["thread"] } : {}),
  };
  const type = types[status] ?? (status < 500 ? "invalid_request_error" : "api_error");
  return { type: "error", error: { type, message: messageOf(error), details } };
}
