/** What is answered where nothing is served, in the form that the path's clients read. */
import type { Context } from "hono";
import { ApiError } from "../http/errors.ts";
import { chatCompletions } from "./chat_completions.ts";
import type { Dialect } from "./dialect.ts";
import { gemini } from "./gemini.ts";
import { geminiVersions } from "./gemini_paths.ts";
import { messages } from "./messages.ts";
import { isModelPath, unservedAt } from "./unserved_paths.ts";

/** A path of model servers' clients. */
interface ModelPath {
  dialect: Dialect;
  /** What stands after the version, without slashes at its ends. */
  below: string;
}

/** Whose clients ask for a path; null for Agent Lightning's own. */
function modelPathOf({ req }: Context): ModelPath | null {
  const inAttempt = /^\/r\/[^/]+\/[^/]+\/[^/]+(\/.*)?$/.exec(req.path);
  const parts = (inAttempt?.[1] ?? (inAttempt ? "" : req.path)).split("/").filter((part) => part !== "");
  // Gemini's uploads have the version second.
  if (parts[0] === "upload" && geminiVersions.includes(parts[1] ?? "")) parts.shift();
  const version = parts[0] ?? "";
  if (geminiVersions.includes(version)) {
    // Google's addresses for OpenAI's clients.
    const isOpenAi = parts[1] === "openai";
    return { dialect: isOpenAi ? chatCompletions : gemini, below: parts.slice(isOpenAi ? 2 : 1).join("/") };
  }
  const below = parts.slice(version === "v1" ? 1 : 0).join("/");
  // Some clients' base addresses end where others append the version.
  if (version !== "v1" && !inAttempt && !isModelPath(below)) return null;
  if (/^messages(\/|$)/.test(below) || req.header("anthropic-version") !== undefined) {
    return { dialect: messages, below };
  }
  return { dialect: req.header("x-goog-api-key") === undefined ? chatCompletions : gemini, below };
}

/** The refusal of a path (404), or of a method that a known path has not (405). */
export function refusePath(context: Context, status: 404 | 405, allow: readonly string[] = []): Response {
  const asked = modelPathOf(context);
  const unserved = asked === null ? null : unservedAt(asked.below);
  const headers: Record<string, string> = status === 405 && unserved === null ? { allow: allow.join(", ") } : {};
  if (!asked) {
    const detail = status === 405 ? "Method Not Allowed" : "Not Found";
    return Response.json({ detail }, { status, headers });
  }
  const error = refusal(context, status, allow, unserved);
  return Response.json(asked.dialect.error(error), { status: error.status, headers });
}

function refusal({ req }: Context, status: 404 | 405, allow: readonly string[], unserved: string | null): ApiError {
  if (unserved !== null) return new ApiError(404, "not_served", unserved);
  const { method, path } = req;
  if (status === 405) {
    return new ApiError(405, "method_not_allowed", `${path} takes ${allow.join(" and ")}, not ${method}.`);
  }
  return new ApiError(404, "unknown_path", `${path} is not served here. GET /openapi.json lists what is.`);
}
