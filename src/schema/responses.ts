import { z } from "zod";
import type { ContentPart } from "./chat.ts";

/** Items of the OpenAI Responses API that make up a conversation. Keys this file does not name are ignored. */

/** Something said; `type` may be left out. */
export interface MessageItem {
  type: "message";
  id?: string | null;
  role: "system" | "developer" | "user" | "assistant";
  content: string | readonly ContentPart[];
}

/** A call of a function by the assistant; `arguments` is JSON text. */
export interface FunctionCallItem {
  type: "function_call";
  id?: string | null;
  call_id: string;
  name: string;
  arguments: string;
}

/** What a called function gave. */
export interface FunctionCallOutputItem {
  type: "function_call_output";
  call_id: string;
  output: string | readonly ContentPart[];
}

/** The assistant's thinking. */
export interface ReasoningItem {
  type: "reasoning";
  id?: string | null;
  summary?: readonly { text: string }[] | null;
  content?: readonly { text: string }[] | null;
  encrypted_content?: string | null;
}

/** Stands for an item of an earlier response; `type` may be left out. */
export interface ItemReference {
  type: "item_reference";
  id: string;
}

/** Any of them. */
export type ResponseItem = MessageItem | FunctionCallItem | FunctionCallOutputItem | ReasoningItem | ItemReference;

const id = z.string().nullish();
const content = z.union([
  z.string(),
  z.array(z.looseObject({ type: z.string(), text: z.string().nullish(), refusal: z.string().nullish() })),
]);
const texts = z.array(z.looseObject({ text: z.string() })).nullish();

const items = {
  message: z.looseObject({
    type: z.literal("message"),
    id,
    role: z.enum(["system", "developer", "user", "assistant"]),
    content,
  }),
  function_call: z.looseObject({
    type: z.literal("function_call"),
    id,
    call_id: z.string(),
    name: z.string(),
    arguments: z.string(),
  }),
  function_call_output: z.looseObject({
    type: z.literal("function_call_output"),
    call_id: z.string(),
    output: content,
  }),
  reasoning: z.looseObject({
    type: z.literal("reasoning"),
    id,
    summary: texts,
    content: texts,
    encrypted_content: z.string().nullish(),
  }),
  item_reference: z.looseObject({ type: z.literal("item_reference"), id: z.string() }),
};

/** The type of an item, which may say it by its keys alone; null for what is no item. */
export function itemType(item: unknown): string | null {
  if (typeof item !== "object" || item === null) return null;
  const { type, role, id } = item as Record<string, unknown>;
  if (typeof type === "string") return type;
  if (role !== undefined) return "message";
  return typeof id === "string" ? "item_reference" : null;
}

/** True for the types that make up a conversation. */
export function isConversationItem(type: string): boolean {
  return Object.hasOwn(items, type);
}

/** Checks one item; unknown keys pass. */
export const responseItemSchema: z.ZodType<ResponseItem> = z.preprocess(
  (item) => {
    const type = itemType(item);
    return type === null ? item : { ...(item as Record<string, unknown>), type };
  },
  z.discriminatedUnion("type", [
    items.message,
    items.function_call,
    items.function_call_output,
    items.reasoning,
    items.item_reference,
  ]),
);
