import type { AgentAccess } from "../schema/rollout_client.ts";
import type { Rollout } from "../schema/wire.ts";

/** Addresses of one attempt at a gateway; `dialects` is "agl" for a gateway that only knows Agent Lightning's paths. */
export function agentAccess(
  gatewayUrl: string,
  rollout: Pick<Rollout, "rollout_id" | "is_train">,
  attemptId: string,
  key: string,
  dialects: "all" | "agl" = "all",
): AgentAccess {
  const base = gatewayUrl.replace(/\/+$/, "");
  const id = encodeURIComponent(rollout.rollout_id);
  const attempt = encodeURIComponent(attemptId);
  const mode = rollout.is_train ? "train" : "val";
  const aglBaseUrl = `${base}/proxy/rollout/${id}/attempt/${attempt}/mode/${mode}/openai/v1`;
  const nativeBaseUrl = `${base}/r/${id}/${attempt}/${mode}`;
  return {
    key,
    openaiBaseUrl: dialects === "all" ? `${nativeBaseUrl}/v1` : aglBaseUrl,
    nativeBaseUrl,
    aglBaseUrl,
    eventUrl: `${base}/api/rollouts/${id}/attempt/${attempt}/events`,
  };
}

/** The variables every agent is given: those its SDK reads by itself, and Agent Lightning's. */
export function accessEnvironment(access: AgentAccess): Record<string, string> {
  return {
    OPENAI_BASE_URL: access.openaiBaseUrl,
    OPENAI_API_BASE: access.openaiBaseUrl,
    OPENAI_API_KEY: access.key,
    ANTHROPIC_BASE_URL: access.nativeBaseUrl,
    ANTHROPIC_API_KEY: access.key,
    GOOGLE_GEMINI_BASE_URL: access.nativeBaseUrl,
    GEMINI_API_KEY: access.key,
    AGL_OPENAI_BASE_URL: access.aglBaseUrl,
    AGL_EVENT_URL: access.eventUrl,
    AGL_KEY: access.key,
  };
}
