/** Gemini: what stands in addresses, `/v1beta/models/MODEL:streamGenerateContent?alt=sse`, and how models are listed. */
import { ApiError } from "../http/errors.ts";
import type { JsonObject } from "./dialect.ts";

/** Versions of the API under which its clients call. */
export const geminiVersions: readonly string[] = ["v1beta", "v1alpha", "v1beta1"];

/** `v1` is shared with OpenAI's clients, who never post there. */
export const geminiCallPaths: readonly string[] = [...geminiVersions, "v1"].map((v) => `/${v}/models/:call{.+}`);

export const geminiCountPaths: readonly string[] = [...geminiVersions, "v1"].map(
  (v) => `/${v}/models/:call{.+[:]countTokens}`,
);

const methods = ["generateContent", "streamGenerateContent", "countTokens"];

/** The model and the kind of reply that an address asks for, as fields of the request. @throws ApiError 404 */
export function geminiFieldsOf(path: string, query: URLSearchParams): JsonObject {
  const at = path.lastIndexOf(":");
  const method = path.slice(at + 1);
  if (at <= 0 || !methods.slice(0, 2).includes(method)) {
    const message = `The method ${JSON.stringify(method)} is not served. Call ${methods.join(", ")}.`;
    throw new ApiError(404, "not_served", message);
  }
  const isStream = method === "streamGenerateContent";
  const streams = query.get("alt") === "sse" ? "sse" : "array";
  return { model: path.slice(0, at), stream: isStream ? streams : null };
}

/** A model as Gemini's clients list it; `context` is null where it is not known. */
export function geminiModel(name: string, context: number | null): JsonObject {
  return {
    name: `models/${name}`,
    version: "1",
    displayName: name,
    ...(context === null ? {} : { inputTokenLimit: context, outputTokenLimit: context }),
    supportedGenerationMethods: methods,
  };
}
