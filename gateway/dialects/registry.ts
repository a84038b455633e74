import { chatCompletions } from "./chat_completions.ts";
import { completions } from "./completions.ts";
import type { Dialect, JsonObject } from "./dialect.ts";
import { gemini } from "./gemini.ts";
import { geminiCallPaths, geminiFieldsOf } from "./gemini_paths.ts";
import { messages } from "./messages.ts";
import { responses } from "./responses.ts";

/** A wire format and where it is served. */
export interface ServedDialect {
  dialect: Dialect;
  /** Below the gateway's root, and below the prefix that names an attempt. */
  paths: readonly string[];
  /** Below the base of an endpoint that calls are forwarded to as they are; null: they are sent as chat completions. */
  upstreamPath: string | null;
  /** Fields of the request that stand in its address: in the parameter `call`, and in the query. @throws ApiError 404 */
  fromPath?(call: string, query: URLSearchParams): JsonObject;
}

/** Some clients' base addresses end where others append the version. */
const served = (path: string): string[] => [`/v1/${path}`, `/${path}`];

/** Every wire format of model calls. */
export const dialects: readonly ServedDialect[] = [
  { dialect: chatCompletions, paths: served("chat/completions"), upstreamPath: "chat/completions" },
  { dialect: completions, paths: served("completions"), upstreamPath: "completions" },
  { dialect: responses, paths: served("responses"), upstreamPath: null },
  { dialect: messages, paths: served("messages"), upstreamPath: null },
  { dialect: gemini, paths: geminiCallPaths, upstreamPath: null, fromPath: geminiFieldsOf },
];

/** The dialect that a recorded call names. */
export function dialectNamed(name: string): Dialect | undefined {
  return dialects.find(({ dialect }) => dialect.name === name)?.dialect;
}
