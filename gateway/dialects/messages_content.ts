/** Anthropic Messages: content blocks as messages of the common conversation. Keys that are not named here say nothing. */
import type { ChatMessage, ContentPart, ToolCall } from "../../src/schema/chat.ts";
import { signedCall } from "./call_signature.ts";
import type { JsonObject } from "./dialect.ts";
import { invalid } from "./request_fields.ts";
import { failedContent } from "./tool_results.ts";

type Block = JsonObject & { type: string };

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function blocksOf(content: unknown, place: string): Block[] {
  if (!Array.isArray(content)) {
    throw invalid(place, `Invalid '${place}': expected a text or a list of content blocks.`);
  }
  return content.map((block: unknown, at) => {
    if (isObject(block) && typeof block.type === "string") return block as Block;
    throw invalid(`${place}.${at}`, `Invalid '${place}.${at}': expected a content block with a type.`);
  });
}

function field(block: Block, name: string, place: string): string {
  const value = block[name];
  if (typeof value === "string") return value;
  const at = `${place}.${name}`;
  throw invalid(at, `Invalid '${at}': a block of type "${block.type}" has a text there.`);
}

function text(value: string): ContentPart {
  return { type: "text", text: value };
}

/** The texts of a block inside a block, one level deep. */
function innerTexts(content: unknown, place: string): ContentPart[] {
  if (typeof content === "string") return [text(content)];
  return blocksOf(content, place).map((block, at) =>
    block.type === "text" ? text(field(block, "text", `${place}.${at}`)) : { type: block.type },
  );
}

function documentTexts(block: Block, place: string): ContentPart[] {
  const { source } = block;
  if (isObject(source) && source.type === "text" && typeof source.data === "string") return [text(source.data)];
  if (isObject(source) && source.type === "content") return innerTexts(source.content, `${place}.source.content`);
  return [{ type: block.type }];
}

/** The text in a block that is no turn's own; a block without text stays what it is, for the token layer to refuse. */
function blockTexts(block: Block, place: string): ContentPart[] {
  switch (block.type) {
    case "text":
      return [text(field(block, "text", place))];
    case "tool_reference":
      return [text(field(block, "tool_name", place))];
    case "search_result":
      return innerTexts(block.content, `${place}.content`);
    case "document":
      return documentTexts(block, place);
    default:
      return [{ type: block.type }];
  }
}

/** System text, or the content of a tool's result. @throws ApiError 400 */
export function readText(content: unknown, place: string): string | ContentPart[] {
  if (typeof content === "string") return content;
  return blocksOf(content, place).flatMap((block, at) => blockTexts(block, `${place}.${at}`));
}

function readResult(block: Block, place: string): ChatMessage {
  const given = block.content ?? "";
  const content = readText(given, `${place}.content`);
  return {
    role: "tool",
    tool_call_id: field(block, "tool_use_id", place),
    content: block.is_error === true ? failedContent(content) : content,
  };
}

/** A user's turn: results of tools are messages of their own, in the order of the blocks. @throws ApiError 400 */
export function readUser(content: unknown, place: string): ChatMessage[] {
  if (typeof content === "string") return [{ role: "user", content }];
  const messages: ChatMessage[] = [];
  let parts: ContentPart[] | null = null;
  for (const [at, block] of blocksOf(content, place).entries()) {
    const here = `${place}.${at}`;
    if (block.type === "tool_result") {
      messages.push(readResult(block, here));
      parts = null;
      continue;
    }
    if (!parts) {
      parts = [];
      messages.push({ role: "user", content: parts });
    }
    parts.push(...blockTexts(block, here));
  }
  return messages.length === 0 ? [{ role: "user", content: "" }] : messages;
}

function readCall(block: Block, place: string): ToolCall {
  const { input, partial_json: sampled } = block;
  const args = typeof sampled === "string" ? sampled : JSON.stringify(input ?? {});
  return {
    id: field(block, "id", place),
    type: "function",
    function: { name: field(block, "name", place), arguments: args },
  };
}

/** An assistant's turn. Thinking that another server has encrypted is left out. @throws ApiError 400 */
export function readAssistant(content: unknown, place: string): ChatMessage {
  if (typeof content === "string") return { role: "assistant", content };
  const parts: ContentPart[] = [];
  const thoughts: string[] = [];
  const calls: ToolCall[] = [];
  let recorded: string | null = null;
  for (const [at, block] of blocksOf(content, place).entries()) {
    const here = `${place}.${at}`;
    if (block.type === "tool_use") calls.push(readCall(block, here));
    else if (block.type === "thinking") {
      thoughts.push(field(block, "thinking", here));
      recorded ??= signedCall(block.signature);
    } else if (block.type !== "redacted_thinking") parts.push(...blockTexts(block, here));
  }
  const reasoning = thoughts.filter((thought) => thought !== "").join("\n");
  return {
    role: "assistant",
    content: parts.length === 0 ? null : parts,
    ...(reasoning === "" ? {} : { reasoning_content: reasoning }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
    ...(recorded === null ? {} : { recorded_call: recorded }),
  };
}
