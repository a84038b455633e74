import type { ChatMessage, ToolCall, ToolDefinition } from "../schema/chat.ts";
import { messageText } from "./message_text.ts";
import type { CarriedNumbers } from "./python_json.ts";
import { joinReasoning, splitReasoning } from "./reasoning.ts";

/** The form in which a template wants messages; found by trying. */
export interface TemplateForm {
  /** Tool-call arguments as JSON text or as an object. */
  arguments: "string" | "object";
  /** Message content as a string or as a list of one text part. */
  content: "string" | "parts";
  /** Knows the role "developer"; else it is given as "system". */
  developer: boolean;
  /** Reads `reasoning_content`; else thinking stands at the head of the content, as the model writes it. */
  reasoning: boolean;
  /** Ids of tool calls as they came, or as nine letters and digits (Mistral). */
  callIds: "any" | "nine";
  /** What stands as content beside tool calls where there is none: the empty text, or none (DeepSeek). */
  callContent: "text" | "none";
}

/** What happens to a request's texts and numbers on their way into the template. */
export interface Preparation {
  mark(text: string): string;
  numbers: CarriedNumbers;
}

/** Messages as the template's `messages` variable. @throws FormatError "unsupported_content" */
export function templateMessages(
  messages: readonly ChatMessage[],
  form: TemplateForm,
  preparation: Preparation,
): Record<string, unknown>[] {
  const calledName = new Map<string, string>();
  return messages.map((message) => {
    for (const call of message.tool_calls ?? []) calledName.set(call.id, call.function.name);
    const name = message.name ?? (message.tool_call_id ? calledName.get(message.tool_call_id) : undefined);
    return templateMessage(name === undefined ? message : { ...message, name }, form, preparation);
  });
}

/** Tool definitions as the template's `tools` variable: every key but cache marks, which agents move from call to call. */
export function templateTools(tools: readonly ToolDefinition[], preparation: Preparation): unknown {
  const unmarked = (value: object) =>
    Object.fromEntries(Object.entries(value).filter(([key]) => key !== "cache_control"));
  return templateValue(
    tools.map((tool) => ({ ...unmarked(tool), function: unmarked(tool.function) })),
    preparation,
  );
}

/** Any JSON value with its strings marked and its numbers carried. */
export function templateValue(value: unknown, preparation: Preparation): unknown {
  if (typeof value === "string") return preparation.mark(value);
  if (typeof value === "number") return preparation.numbers.carry(value);
  if (Array.isArray(value)) return value.map((item) => templateValue(item, preparation));
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).filter(([, item]) => item !== undefined);
  return Object.fromEntries(entries.map(([key, item]) => [preparation.mark(key), templateValue(item, preparation)]));
}

function templateMessage(message: ChatMessage, form: TemplateForm, preparation: Preparation): Record<string, unknown> {
  const { mark } = preparation;
  const { text, reasoning } = visibleAndReasoning(message, form);
  const thought = reasoning !== null && !form.reasoning ? joinReasoning(mark(reasoning), "") : "";
  const content = thought + mark(text);
  const out: Record<string, unknown> = {
    role: message.role === "developer" && !form.developer ? "system" : message.role,
    content: form.content === "parts" ? [{ type: "text", text: content }] : content,
  };
  if (message.tool_calls?.length && content === "" && form.callContent === "none") out.content = null;
  if (reasoning !== null && form.reasoning) out.reasoning_content = mark(reasoning);
  if (message.tool_calls?.length) {
    out.tool_calls = message.tool_calls.map((call) => templateCall(call, form, preparation));
  }
  if (message.tool_call_id) out.tool_call_id = callId(message.tool_call_id, form);
  if (message.name) out.name = mark(message.name);
  return out;
}

/** An assistant's thinking may come back inside its content; the template's own logic then could not see past marks. */
function visibleAndReasoning(message: ChatMessage, form: TemplateForm): { text: string; reasoning: string | null } {
  const text = messageText(message);
  const given = message.role === "assistant" ? message.reasoning_content || null : null;
  if (message.role !== "assistant" || given !== null || !form.reasoning) return { text, reasoning: given };
  const split = splitReasoning(text, false);
  return { text: split.rest, reasoning: split.reasoning };
}

function templateCall(call: ToolCall, form: TemplateForm, preparation: Preparation): Record<string, unknown> {
  const { name } = call.function;
  const args = call.function.arguments.trim() === "" ? "{}" : call.function.arguments;
  return {
    id: callId(call.id, form),
    type: "function",
    function: { name: preparation.mark(name), arguments: templateArguments(args, form, preparation) },
  };
}

/** Arguments that are not JSON (a harness may send back what the model wrote) stay text in either form. */
function templateArguments(args: string, form: TemplateForm, preparation: Preparation): unknown {
  if (form.arguments === "string") return preparation.mark(args);
  let value: unknown;
  try {
    value = preparation.numbers.parse(args);
  } catch {
    return preparation.mark(args);
  }
  return templateValue(value, preparation);
}

/** The last nine letters and digits, which tell the ids of one conversation apart, where a template wants nine. */
function callId(id: string, form: TemplateForm): string {
  if (form.callIds === "any" || /^[a-zA-Z0-9]{9}$/.test(id)) return id;
  return id
    .replace(/[^a-zA-Z0-9]/g, "")
    .slice(-9)
    .padStart(9, "0");
}
