/** Gemini: contents as messages of the common conversation. Keys that are not named here say nothing. */
import type { ChatMessage, ContentPart, ToolCall } from "../../src/schema/chat.ts";
import { signedCall } from "./call_signature.ts";
import type { JsonObject } from "./dialect.ts";
import { invalid } from "./request_fields.ts";
import { failedText } from "./tool_results.ts";

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The parts of a content, which some clients write as a bare text. @throws ApiError 400 */
function partsOf(content: unknown, place: string): JsonObject[] {
  if (typeof content === "string") return [{ text: content }];
  const parts = isObject(content) ? content.parts : content;
  if (parts === undefined || parts === null) return [];
  const list = Array.isArray(parts) ? parts : [parts];
  return list.map((part: unknown, at) => {
    if (typeof part === "string") return { text: part };
    if (isObject(part)) return part;
    throw invalid(`${place}.parts.${at}`, `Invalid '${place}.parts.${at}': expected a part.`);
  });
}

/** What of a part is text; a part of another kind stays what it is, for the token layer to refuse. */
function textPart(part: JsonObject): ContentPart {
  if (typeof part.text === "string") return { type: "text", text: part.text };
  const [kind = "empty"] = Object.keys(part).filter((key) => !["thought", "thoughtSignature"].includes(key));
  return { type: kind };
}

/** Instructions. @throws ApiError 400 */
export function readInstruction(content: unknown, place: string): ContentPart[] {
  if (content === undefined || content === null) return [];
  return partsOf(content, place).map(textPart);
}

/** The text of what a tool gave: alone under one of the usual keys, else all of it as JSON. */
function resultText(response: unknown): string {
  if (typeof response === "string") return response;
  if (!isObject(response)) return JSON.stringify(response ?? {});
  const [key, ...others] = Object.keys(response);
  const value = key === undefined ? undefined : response[key];
  if (key === "error" && others.length === 0)
    return failedText(typeof value === "string" ? value : JSON.stringify(value));
  const isOnly = others.length === 0 && (key === "output" || key === "result" || key === "content");
  return isOnly && typeof value === "string" ? value : JSON.stringify(response);
}

/** Finds the calls that results answer, since clients may leave the ids out: by name, in order. */
class OpenCalls {
  private open: ToolCall[] = [];

  ask(calls: readonly ToolCall[]): void {
    this.open = [...calls];
  }

  answer(id: string | null, name: string): string {
    const at = this.open.findIndex((call) => (id === null ? call.function.name === name : call.id === id));
    const [call] = at < 0 ? [] : this.open.splice(at, 1);
    return call?.id ?? id ?? name;
  }
}

function readResult(part: unknown, place: string, open: OpenCalls): ChatMessage {
  const { id, name, response } = isObject(part) ? part : {};
  if (typeof name !== "string") {
    throw invalid(`${place}.name`, `Invalid '${place}.name': a function's response names the function.`);
  }
  const callId = open.answer(typeof id === "string" && id !== "" ? id : null, name);
  return { role: "tool", tool_call_id: callId, name, content: resultText(response) };
}

function readUser(parts: readonly JsonObject[], place: string, open: OpenCalls): ChatMessage[] {
  const messages: ChatMessage[] = [];
  let texts: ContentPart[] | null = null;
  for (const [at, part] of parts.entries()) {
    if (part.functionResponse !== undefined) {
      messages.push(readResult(part.functionResponse, `${place}.parts.${at}.functionResponse`, open));
      texts = null;
      continue;
    }
    if (!texts) {
      texts = [];
      messages.push({ role: "user", content: texts });
    }
    texts.push(textPart(part));
  }
  return messages.length === 0 ? [{ role: "user", content: "" }] : messages;
}

function readCall(part: unknown, place: string, index: number): ToolCall {
  const { id, name, args, rawArgs } = isObject(part) ? part : {};
  if (typeof name !== "string") {
    throw invalid(`${place}.name`, `Invalid '${place}.name': a function's call names the function.`);
  }
  return {
    id: typeof id === "string" && id !== "" ? id : `${name}_${index}`,
    type: "function",
    function: { name, arguments: typeof rawArgs === "string" ? rawArgs : JSON.stringify(args ?? {}) },
  };
}

/** A turn of the model. @throws ApiError 400 */
export function readModelTurn(content: unknown, place: string): ChatMessage {
  let text: string | null = null;
  let thought = "";
  let recorded: string | null = null;
  const others: ContentPart[] = [];
  const calls: ToolCall[] = [];
  for (const [at, part] of partsOf(content, place).entries()) {
    recorded ??= signedCall(part.thoughtSignature);
    if (part.functionCall !== undefined) {
      calls.push(readCall(part.functionCall, `${place}.parts.${at}.functionCall`, calls.length));
    } else if (typeof part.text !== "string") others.push(textPart(part));
    else if (part.thought === true) thought += part.text;
    else text = (text ?? "") + part.text;
  }
  const said: ContentPart[] = text === null ? [] : [{ type: "text", text }];
  return {
    role: "assistant",
    content: others.length === 0 ? text : [...said, ...others],
    ...(thought === "" ? {} : { reasoning_content: thought }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
    ...(recorded === null ? {} : { recorded_call: recorded }),
  };
}

/** The conversation: a list of contents, a single one, or a bare text. @throws ApiError 400 */
export function readContents(contents: unknown): ChatMessage[] {
  const list = Array.isArray(contents) ? contents : contents === undefined || contents === null ? [] : [contents];
  if (list.length === 0) throw invalid("contents", "Missing 'contents': send at least one content.");
  const open = new OpenCalls();
  return list.flatMap((content: unknown, at) => {
    const place = `contents.${at}`;
    if (!isObject(content) && typeof content !== "string") {
      throw invalid(place, `Invalid '${place}': expected a content with parts.`);
    }
    const { role } = isObject(content) ? content : { role: "user" };
    if (role === "model") {
      const turn = readModelTurn(content, place);
      open.ask(turn.tool_calls ?? []);
      return [turn];
    }
    if (role === "system") return [{ role, content: readInstruction(content, place) }];
    if (role === undefined || role === null || role === "user" || role === "function") {
      return readUser(partsOf(content, place), place, open);
    }
    throw invalid(`${place}.role`, `Invalid '${place}.role': expected "user" or "model", got ${JSON.stringify(role)}.`);
  });
}
