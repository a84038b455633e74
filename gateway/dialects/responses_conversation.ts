/**
 * OpenAI Responses: items as messages. A reply is one message to the model and several items to a harness (thinking,
 * text, calls), which come back with their ids, without, or with others.
 */
import type { ChatMessage, ContentPart, ToolCall } from "../../src/schema/chat.ts";
import type {
  FunctionCallItem,
  ItemReference,
  MessageItem,
  ReasoningItem,
  ResponseItem,
} from "../../src/schema/responses.ts";
import { ApiError } from "../http/errors.ts";
import type { PastCall, PastCalls } from "./dialect.ts";
import { callOfEncrypted, type ItemName, itemName } from "./responses_ids.ts";

/** A message of the assistant while its items are gathered. */
interface Draft {
  message: ChatMessage & { tool_calls?: ToolCall[] };
  /** The recorded call whose reply it is; null when no item has told. */
  callId: string | null;
}

function partOf({ type, text, refusal }: ContentPart): ContentPart {
  if (typeof text === "string") return { type: "text", text };
  return typeof refusal === "string" ? { type: "refusal", refusal } : { type };
}

/** Parts by the names that chat messages have for them; a single text as a string. */
function contentOf(content: string | readonly ContentPart[]): string | ContentPart[] {
  if (typeof content === "string") return content;
  const [first, ...rest] = content.map(partOf);
  if (!first) return "";
  return rest.length === 0 && typeof first.text === "string" ? first.text : [first, ...rest];
}

function reasoningText({ content, summary }: ReasoningItem): string {
  const texts = content?.length ? content : (summary ?? []);
  return texts.map(({ text }) => text).join("\n");
}

function notFound(id: string): ApiError {
  return new ApiError(
    400,
    "item_not_found",
    `Item with id '${id}' not found. Send the item itself; references reach the responses of the same attempt.`,
    { param: "input" },
  );
}

/** Gathers items into messages. */
class Conversation {
  readonly messages: ChatMessage[] = [];
  private readonly past: PastCalls;
  private readonly drafts: Draft[] = [];
  /** The message that further items of the same reply belong to. */
  private open: Draft | null = null;

  constructor(past: PastCalls) {
    this.past = past;
  }

  add(item: ResponseItem): void {
    if (item.type === "item_reference") this.add(this.referred(item));
    else if (item.type === "reasoning") this.addReasoning(item);
    else if (item.type === "function_call") this.addCall(item);
    else if (item.type === "function_call_output") {
      this.close({ role: "tool", tool_call_id: item.call_id, content: contentOf(item.output) });
    } else if (item.role !== "assistant") this.close({ role: item.role, content: contentOf(item.content) });
    else this.addText(item);
  }

  private close(message: ChatMessage): void {
    this.open = null;
    this.messages.push(message);
  }

  /** The open message if items of `callId` may belong to it and it `takes` them, else a new one. */
  private draft(callId: string | null, takes: (message: ChatMessage) => boolean): Draft {
    const { open } = this;
    const isSame = open !== null && (callId === null || open.callId === null || open.callId === callId);
    if (isSame && takes(open.message)) {
      open.callId ??= callId;
      return open;
    }
    const draft: Draft = { message: { role: "assistant", content: null }, callId };
    this.messages.push(draft.message);
    this.drafts.push(draft);
    this.open = draft;
    return draft;
  }

  private addReasoning(item: ReasoningItem): void {
    const sealed = item.encrypted_content ? callOfEncrypted(item.encrypted_content) : null;
    const source = (sealed === null ? null : this.past.past(sealed)) ?? this.sourceOf(item.id);
    const { message } = this.draft(source?.id ?? null, ({ content, tool_calls }) => content === null && !tool_calls);
    const text = source?.reply?.reasoning_content ?? reasoningText(item);
    const before = message.reasoning_content;
    message.reasoning_content = before && before !== text ? `${before}\n${text}` : text;
  }

  private addText(item: MessageItem): void {
    const callId = this.sourceOf(item.id)?.id ?? null;
    const { message } = this.draft(callId, ({ content, tool_calls }) => content === null && !tool_calls);
    message.content = contentOf(item.content);
  }

  private addCall(item: FunctionCallItem): void {
    const callId = (this.past.pastOfToolCall(item.call_id) ?? this.sourceOf(item.id))?.id ?? null;
    // Outputs may stand between the calls of one reply: only a call known to be of it finds back.
    const earlier = callId === null || this.open ? undefined : this.drafts.find((draft) => draft.callId === callId);
    const { message } = earlier ?? this.draft(callId, () => true);
    const { call_id: id, name, arguments: text } = item;
    message.tool_calls = [...(message.tool_calls ?? []), { id, type: "function", function: { name, arguments: text } }];
  }

  private sourceOf(id: string | null | undefined): PastCall | null {
    const name = id ? itemName(id) : null;
    return name && this.past.past(name.callId);
  }

  private referred({ id }: ItemReference): Exclude<ResponseItem, ItemReference> {
    const name = itemName(id);
    const reply = name ? this.past.past(name.callId)?.reply : null;
    const item = name && reply ? itemOfReply(id, name, reply) : null;
    if (!item) throw notFound(id);
    return item;
  }
}

function itemOfReply(
  id: string,
  { kind, index }: ItemName,
  { content, reasoning_content: reasoning, tool_calls: calls }: ChatMessage,
): Exclude<ResponseItem, ItemReference> | null {
  if (kind === "message") return { type: "message", id, role: "assistant", content: content ?? "" };
  if (kind === "reasoning") return { type: "reasoning", id, content: [{ text: reasoning ?? "" }] };
  const call = calls?.[index];
  return call ? { type: "function_call", id, call_id: call.id, ...call.function } : null;
}

/** The messages that items make. @throws ApiError 400 "item_not_found" */
export function conversationOf(items: readonly ResponseItem[], past: PastCalls): ChatMessage[] {
  const conversation = new Conversation(past);
  for (const item of items) conversation.add(item);
  return conversation.messages;
}

/** No earlier calls. */
export const noPast: PastCalls = { past: () => null, pastOfToolCall: () => null };
