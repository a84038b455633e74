import { CancelledError } from "../../src/core/errors.ts";
import { ApiError, DetailError } from "./errors.ts";

/** A body is longer than the limit. */
export class BodyTooLarge extends ApiError {
  constructor(limit: number) {
    super(413, "request_too_large", `The request body is longer than ${limit} bytes.`);
  }
}

/** The request's body as text. @throws BodyTooLarge; CancelledError when the client breaks off */
export async function readText(request: Request, limit: number): Promise<string> {
  try {
    return await readWithin(request, limit);
  } catch (thrown) {
    // A body fails to arrive for one reason only: its sender has gone.
    throw thrown instanceof BodyTooLarge ? thrown : new CancelledError("A request, while its body arrived,");
  }
}

async function readWithin(request: Request, limit: number): Promise<string> {
  const stated = request.headers.get("content-length");
  if (stated !== null && Number(stated) > limit) throw new BodyTooLarge(limit);
  // A stated length is enforced by every server; without one the bytes are counted.
  if (stated !== null || request.body === null) return await request.text();
  const decoder = new TextDecoder();
  const reader = request.body.getReader();
  let size = 0;
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return text + decoder.decode();
    size += value.byteLength;
    if (size > limit) {
      await reader.cancel();
      throw new BodyTooLarge(limit);
    }
    text += decoder.decode(value, { stream: true });
  }
}

/** Levels of lists and objects in a body: far more than any has, far fewer than end a recursion over it. */
const maxDepth = 1000;

const tooDeep = `The request body is nested deeper than ${maxDepth} levels. Send a flatter one.`;

/** Where the string of JSON text that begins at `from` ends. */
function endOfString(text: string, from: number): number {
  let end = text.indexOf('"', from + 1);
  for (;;) {
    let escapes = 0;
    while (text[end - 1 - escapes] === "\\") escapes++;
    if (escapes % 2 === 0) return end;
    end = text.indexOf('"', end + 1);
  }
}

/** Whether text, which is JSON, opens more than `maxDepth` lists and objects within each other. */
function isTooDeep(text: string): boolean {
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    const mark = text[at];
    if (mark === '"') at = endOfString(text, at);
    else if (mark === "[" || mark === "{") depth++;
    else if (mark === "]" || mark === "}") depth--;
    if (depth > maxDepth) return true;
  }
  return false;
}

/** Where JSON.parse stopped, 0 where it does not say. */
function positionOf(error: unknown): number {
  return Number(/position (\d+)/.exec(error instanceof Error ? error.message : "")?.[1] ?? 0);
}

/**
 * The body of a JSON route, undefined when there is none.
 * @throws DetailError 422 when it is not JSON or nested too deeply, 413 when it is too long
 */
export async function readJson(request: Request, limit: number): Promise<unknown> {
  let text: string;
  try {
    text = await readText(request, limit);
  } catch (thrown) {
    throw thrown instanceof BodyTooLarge ? new DetailError(413, thrown.message) : thrown;
  }
  if (text === "") return undefined;
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch (error) {
    const loc = ["body", positionOf(error)];
    throw new DetailError(422, [
      { type: "json_invalid", loc, msg: "JSON decode error", input: {}, ctx: { error: String(error) } },
    ]);
  }
  if (isTooDeep(text)) throw new DetailError(422, tooDeep);
  return body;
}

/** The object that a model call's body holds, `{}` when it is empty. @throws ApiError 400, BodyTooLarge */
export async function readObject(request: Request, limit: number): Promise<Record<string, unknown>> {
  const text = await readText(request, limit);
  let body: unknown = {};
  try {
    if (text !== "") body = JSON.parse(text);
  } catch (cause) {
    throw new ApiError(400, "invalid_json", "Invalid JSON in request body", { cause });
  }
  if (isTooDeep(text)) throw new ApiError(400, "invalid_body", tooDeep);
  if (typeof body === "object" && body !== null && !Array.isArray(body)) return body as Record<string, unknown>;
  throw new ApiError(400, "invalid_body", "The request body must be a JSON object.");
}
