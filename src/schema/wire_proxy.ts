/** Wire shapes of Agent Lightning's model proxy: endpoints, recorded calls, pause and resume. */
import { z } from "zod";
import { lenientInteger } from "./lenient_json.ts";
import type { RolloutMode } from "./wire.ts";

/** A model served at an OpenAI base path such as `http://10.0.0.5:8000/v1`. */
export interface ModelEndpoint {
  model: string;
  endpoint: string;
  /** Training step of the served weights. */
  version: number;
}

/** `data` of a `model_request` event. */
export interface ModelRequestData {
  model: string;
  model_version: number;
  /** The body as it was sent to the model, after rewriting. */
  request: Record<string, unknown>;
  response: unknown;
  server: ModelEndpoint;
  /** From admission to the reply, waits and retries included. */
  latency_ms: number;
  http_status: number;
  status: "ok" | "error";
  retry_count: number;
  usage: Record<string, unknown> | null;
  finish_reason: string | null;
  /** The rest is Leyden's addition. */
  call_id?: string;
  call_key?: string;
  mode?: RolloutMode;
  /** The call whose prompt and reply begin this prompt, the number of ids shared, and why there is none. */
  parent_call?: string | null;
  prefix_length?: number;
  break_reason?: string | null;
  /** The harness's sampling settings that were not used. */
  overridden?: Record<string, unknown>;
  /** True when log-probabilities are of a truncated distribution. */
  truncated?: boolean;
  /** True when they are of a distribution that a grammar masked. */
  constrained?: boolean;
  delivery?: "pending" | "delivered" | "abandoned";
}

/** Body of `POST /proxy/pause`. */
export interface PauseRequest {
  retry_after_seconds?: number;
  reason?: string | null;
}

/** Reply of the three pause routes. */
export interface PauseState {
  paused: boolean;
  retry_after_seconds: number;
  reason: string | null;
  inflight: number;
}

const modelEndpointSchema: z.ZodType<ModelEndpoint> = z.object({
  model: z.string(),
  endpoint: z.string(),
  version: lenientInteger.default(0),
});

/** Body of `POST /api/models`. */
export const modelEndpointListSchema: z.ZodType<ModelEndpoint[]> = z.array(modelEndpointSchema);

export const pauseRequestSchema: z.ZodType<PauseRequest> = z.object({
  retry_after_seconds: lenientInteger.optional(),
  reason: z.string().nullish(),
});
