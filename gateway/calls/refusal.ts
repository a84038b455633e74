import type { ModelEndpoint, ModelRequestData } from "../../src/schema/wire_proxy.ts";
import type { JsonObject } from "../dialects/dialect.ts";

/** A call that a model answered with an error status. */
export interface Refusal {
  server: ModelEndpoint;
  request: JsonObject;
  response: unknown;
  httpStatus: number;
  latencyMs: number;
  retryCount: number;
}

function usageOf(response: unknown): JsonObject | null {
  const usage = (response as { usage?: unknown } | null)?.usage;
  return typeof usage === "object" && usage !== null && !Array.isArray(usage) ? (usage as JsonObject) : null;
}

/** Why a foreign model's reply ended; null when it does not say. */
export function finishReasonOf(response: unknown): string | null {
  const choices = (response as { choices?: unknown } | null)?.choices;
  const reason: unknown = Array.isArray(choices) ? choices[0]?.finish_reason : null;
  return typeof reason === "string" && reason !== "" ? reason : null;
}

/** The refusal as a `model_request` event's data. */
export function refusalData({
  server,
  request,
  response,
  httpStatus,
  latencyMs,
  retryCount,
}: Refusal): ModelRequestData {
  return {
    model: server.model,
    model_version: server.version,
    request,
    response,
    server,
    latency_ms: latencyMs,
    http_status: httpStatus,
    status: "error",
    retry_count: retryCount,
    usage: usageOf(response),
    finish_reason: finishReasonOf(response),
  };
}
