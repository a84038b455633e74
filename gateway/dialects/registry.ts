import { chatCompletions } from "./chat_completions.ts";
import type { Dialect } from "./dialect.ts";
import { messages } from "./messages.ts";
import { responses } from "./responses.ts";

/** A wire format and where it is served. */
export interface ServedDialect {
  dialect: Dialect;
  /** Below the gateway's root, and below the prefix that names an attempt. */
  path: string;
  /** Below the base of an endpoint that calls are forwarded to; null for a dialect that is not forwarded. */
  upstreamPath: string | null;
}

/** Every wire format of model calls. */
export const dialects: readonly ServedDialect[] = [
  { dialect: chatCompletions, path: "/v1/chat/completions", upstreamPath: "chat/completions" },
  { dialect: responses, path: "/v1/responses", upstreamPath: null },
  { dialect: messages, path: "/v1/messages", upstreamPath: null },
];

/** The dialect that a recorded call names. */
export function dialectNamed(name: string): Dialect | undefined {
  return dialects.find(({ dialect }) => dialect.name === name)?.dialect;
}
