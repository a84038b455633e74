/** Gemini: errors. */
import { type ApiError, ContextLengthExceeded } from "../http/errors.ts";
import type { JsonObject } from "./dialect.ts";

/** Google's names of errors by status. */
const names: Readonly<Record<number, string>> = {
  400: "INVALID_ARGUMENT",
  401: "UNAUTHENTICATED",
  403: "PERMISSION_DENIED",
  404: "NOT_FOUND",
  409: "ABORTED",
  413: "INVALID_ARGUMENT",
  429: "RESOURCE_EXHAUSTED",
  499: "CANCELLED",
  503: "UNAVAILABLE",
  504: "DEADLINE_EXCEEDED",
};

/** Clients know a prompt that is too long by these words. */
function messageOf(error: ApiError): string {
  if (!(error instanceof ContextLengthExceeded)) return error.message;
  return `The input token count (${error.promptTokens}) exceeds the maximum number of tokens allowed (${error.contextLength - 1}).`;
}

/** `{"error":{"code","message","status","details"}}`; the stable code and the field stand in the details. */
export function geminiError(error: ApiError): JsonObject {
  const { code: reason, param, status: code } = error;
  const status = names[code] ?? (code < 500 ? "FAILED_PRECONDITION" : "INTERNAL");
  const detail = {
    "@type": "type.googleapis.com/google.rpc.ErrorInfo",
    reason,
    domain: "leyden",
    ...(param === null ? {} : { metadata: { field: param === "messages" ? "contents" : param } }),
  };
  return { error: { code, message: messageOf(error), status, details: [detail] } };
}
