import { z } from "zod";

/**
 * Chat conversations as every dialect of the gateway is brought to them, and what the token layer answers. Keys this
 * file does not name are kept by the schemas and ignored by everything that reads them.
 */

/** Who speaks. `developer` is a later name for `system`; templates that lack it get `system`. */
export type ChatRole = "system" | "developer" | "user" | "assistant" | "tool";

/** A piece of a message. Text sits in `text` (`refusal` in a refusal part); other kinds cannot be rendered. */
export interface ContentPart {
  type: string;
  text?: string | null;
  refusal?: string | null;
}

/** A call of a function by the assistant; `arguments` is JSON text, kept exactly as it was sampled. */
export interface ToolCall {
  id: string;
  type: "function";
  function: { name: string; arguments: string };
}

/** One message. A string content and a single text part with that string mean the same. */
export interface ChatMessage {
  role: ChatRole;
  content?: string | readonly ContentPart[] | null;
  /** The assistant's thinking, without its markers. */
  reasoning_content?: string | null;
  tool_calls?: readonly ToolCall[] | null;
  /** In a tool message: the call it answers. */
  tool_call_id?: string | null;
  name?: string | null;
  /** In an assistant message: the recorded call whose reply it is, where a dialect has the harness carry that along. */
  recorded_call?: string | null;
}

/** A function the assistant may call; `parameters` is a JSON schema. */
export interface ToolDefinition {
  type: "function";
  function: { name: string; description?: string | null; parameters?: Record<string, unknown> | null };
}

/** What of a request decides the prompt. */
export interface ChatRequest {
  messages: readonly ChatMessage[];
  tools?: readonly ToolDefinition[] | null;
  /** Extra variables of the template, such as `enable_thinking`. */
  templateArgs?: Record<string, unknown> | null;
}

/** A call of the same attempt that the token log already holds. */
export interface RecordedCall {
  id: string;
  request: ChatRequest;
  /** The assistant message exactly as it was delivered; null when nothing was. */
  reply: ChatMessage | null;
  promptIds: ArrayLike<number>;
  /** The sampled ids, including the stop id where one ended the reply. */
  replyIds: ArrayLike<number>;
}

/** What of a recorded call is needed to go on from it: how many prompt ids it has, and not which. */
export interface ContinuedCall extends Omit<RecordedCall, "promptIds"> {
  promptIds: Pick<ArrayLike<number>, "length">;
}

/**
 * Why a request that is not the first of its attempt starts a new lineage.
 * template: it continues a recorded call, but the template writes earlier turns differently now.
 * retokenised: it continues a recorded call whose tokens are unknown, so the text had to be encoded again.
 * edited: it shares a beginning with a recorded call, or repeats its reply in its place, and a message, the tools or the
 *   settings were changed.
 * compaction: a summary is asked for, or takes the place of earlier messages.
 * side: it has nothing in common with any recorded call but its system text at most (title, sub-agent).
 * unknown: none of these fits.
 */
export type BreakReason = "template" | "retokenised" | "edited" | "compaction" | "side" | "unknown";

/** A request as token ids. */
export interface EncodedPrompt {
  ids: Int32Array;
  /** The recorded call whose prompt and reply ids are the beginning of `ids`, verbatim. */
  parentCall: string | null;
  /** How many ids come from that call; 0 without one. */
  prefixLength: number;
  /** Null for a continuation and for the first call of an attempt. */
  break: BreakReason | null;
}

/** A request as what it adds to the recorded call that it continues; all of its ids where it continues none. */
export interface PromptAddition {
  ids: Int32Array;
  /** The recorded call whose prompt and reply ids come before `ids`, verbatim. */
  parentCall: string | null;
  /** As in EncodedPrompt. */
  break: BreakReason | null;
}

/** A tool call found in a reply; the caller gives it an id. */
export interface ParsedToolCall {
  name: string;
  /** The JSON text of the arguments as sampled. */
  arguments: string;
}

/** Sampled ids as a message. */
export interface ParsedReply {
  /** The visible text; null when there is none besides tool calls. */
  content: string | null;
  /** The thinking without its markers; null when the reply has none. */
  reasoningContent: string | null;
  toolCalls: ParsedToolCall[];
  /** The whole reply decoded, markers included, without the stop token. */
  text: string;
  /** The stop id at the end, or null when something else ended the reply. */
  stopId: number | null;
}

const contentPartSchema: z.ZodType<ContentPart> = z.looseObject({
  type: z.string(),
  text: z.string().nullish(),
  refusal: z.string().nullish(),
});

const toolCallSchema: z.ZodType<ToolCall> = z.looseObject({
  id: z.string(),
  type: z.literal("function").default("function"),
  function: z.looseObject({ name: z.string(), arguments: z.string().default("{}") }),
});

/** Checks one message; unknown keys pass. */
export const chatMessageSchema: z.ZodType<ChatMessage> = z.looseObject({
  role: z.enum(["system", "developer", "user", "assistant", "tool"]),
  content: z.union([z.string(), z.array(contentPartSchema)]).nullish(),
  reasoning_content: z.string().nullish(),
  tool_calls: z.array(toolCallSchema).nullish(),
  tool_call_id: z.string().nullish(),
  name: z.string().nullish(),
  recorded_call: z.string().nullish(),
});

/** Checks one tool definition; unknown keys pass and reach the template. */
export const toolDefinitionSchema: z.ZodType<ToolDefinition> = z.looseObject({
  type: z.literal("function"),
  function: z.looseObject({
    name: z.string(),
    description: z.string().nullish(),
    parameters: z.record(z.string(), z.unknown()).nullish(),
  }),
});

/** Checks the part of a request that decides the prompt. */
export const chatRequestSchema: z.ZodType<ChatRequest> = z.looseObject({
  messages: z.array(chatMessageSchema).min(1),
  tools: z.array(toolDefinitionSchema).nullish(),
  templateArgs: z.record(z.string(), z.unknown()).nullish(),
});
