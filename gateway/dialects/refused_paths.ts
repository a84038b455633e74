/** What is answered where nothing is served, in the form that the path's clients read. */
import type { Context } from "hono";
import { ApiError } from "../http/errors.ts";
import { chatCompletions } from "./chat_completions.ts";
import type { Dialect } from "./dialect.ts";
import { gemini } from "./gemini.ts";
import { geminiVersions } from "./gemini_paths.ts";
import { messages } from "./messages.ts";

/** What of a path stands after the prefix that names an attempt. */
function pathBelow(path: string): string {
  return /^\/r\/[^/]+\/[^/]+\/[^/]+(\/.*)?$/.exec(path)?.[1] ?? path;
}

/** The dialect whose clients ask for a path; null for Agent Lightning's. */
function dialectOf(context: Context): Dialect | null {
  const [, version = "", family = ""] = pathBelow(context.req.path).split("/");
  if (geminiVersions.includes(version)) return gemini;
  if (version !== "v1") return null;
  const isAnthropic = family === "messages" || context.req.header("anthropic-version") !== undefined;
  return isAnthropic ? messages : chatCompletions;
}

/** The refusal of a path (404), or of a method that a known path has not (405). */
export function refusePath(context: Context, status: 404 | 405, allow: readonly string[] = []): Response {
  const headers: Record<string, string> = status === 405 ? { allow: allow.join(", ") } : {};
  const dialect = dialectOf(context);
  if (!dialect) {
    const detail = status === 405 ? "Method Not Allowed" : "Not Found";
    return Response.json({ detail }, { status, headers });
  }
  const { method, path } = context.req;
  const error =
    status === 405
      ? new ApiError(405, "method_not_allowed", `${path} takes ${allow.join(" and ")}, not ${method}.`)
      : new ApiError(404, "unknown_path", `${path} is not served here. GET /openapi.json lists what is.`);
  return Response.json(dialect.error(error), { status, headers });
}
