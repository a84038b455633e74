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
  /** What an earlier preparation of the same `mark` left as it is. */
  unchanged?: UnchangedValues;
}

/** A message in a template's form. */
type TemplateMessage = Record<string, unknown>;

/** Messages and tools of which no text was marked and no number carried, in a template's form: most of a conversation's. */
export class UnchangedValues {
  private readonly messages = new WeakMap<ChatMessage, { form: TemplateForm; name?: string; value: TemplateMessage }>();
  private readonly tools = new WeakMap<
    readonly ToolDefinition[],
    { tools: readonly ToolDefinition[]; value: unknown }
  >();

  /** `name`: the one that the message has where it stands. */
  message(message: ChatMessage, form: TemplateForm, name: string | undefined): TemplateMessage | undefined {
    const known = this.messages.get(message);
    return known?.form === form && known.name === name ? known.value : undefined;
  }

  keepMessage(message: ChatMessage, form: TemplateForm, name: string | undefined, value: TemplateMessage): void {
    this.messages.set(message, { form, ...(name === undefined ? {} : { name }), value });
  }

  toolList(tools: readonly ToolDefinition[]): unknown {
    const known = this.tools.get(tools);
    const isSame = known?.tools.length === tools.length && known.tools.every((tool, at) => tool === tools[at]);
    return isSame ? known?.value : undefined;
  }

  keepToolList(tools: readonly ToolDefinition[], value: unknown): void {
    this.tools.set(tools, { tools: [...tools], value });
  }
}

/** True when templates are given the same for both messages. */
export function sameInTemplate(a: ChatMessage, b: ChatMessage): boolean {
  if (a === b) return true;
  const [calls, others] = [a.tool_calls ?? [], b.tool_calls ?? []];
  return (
    a.role === b.role &&
    (a.name || null) === (b.name || null) &&
    (a.tool_call_id || null) === (b.tool_call_id || null) &&
    (a.reasoning_content || null) === (b.reasoning_content || null) &&
    messageText(a) === messageText(b) &&
    calls.length === others.length &&
    calls.every((call, at) => sameCall(call, others[at]))
  );
}

function sameCall(a: ToolCall, b: ToolCall | undefined): boolean {
  return a.id === b?.id && a.function.name === b.function.name && a.function.arguments === b.function.arguments;
}

/** Messages as the template's `messages` variable. @throws FormatError "unsupported_content" */
export function templateMessages(
  messages: readonly ChatMessage[],
  form: TemplateForm,
  preparation: Preparation,
): TemplateMessage[] {
  const calledName = new Map<string, string>();
  return messages.map((message) => {
    for (const call of message.tool_calls ?? []) calledName.set(call.id, call.function.name);
    const name = message.name ?? (message.tool_call_id ? calledName.get(message.tool_call_id) : undefined);
    const known = preparation.unchanged?.message(message, form, name);
    if (known) return known;
    const named = name === undefined ? message : { ...message, name };
    const { value, isChanged } = prepared(preparation, (watched) => templateMessage(named, form, watched));
    if (!isChanged) preparation.unchanged?.keepMessage(message, form, name, value);
    return value;
  });
}

/** What `write` makes, and whether it marked a text or carried a number for it. */
function prepared<T>(
  { mark, numbers }: Preparation,
  write: (watched: Preparation) => T,
): { value: T; isChanged: boolean } {
  const carried = numbers.count;
  let isMarked = false;
  const watched = (text: string): string => {
    const marked = mark(text);
    if (marked !== text) isMarked = true;
    return marked;
  };
  const value = write({ mark: watched, numbers });
  return { value, isChanged: isMarked || numbers.count !== carried };
}

/** Tool definitions as the template's `tools` variable: every key but cache marks, which agents move from call to call. */
export function templateTools(tools: readonly ToolDefinition[], preparation: Preparation): unknown {
  const known = preparation.unchanged?.toolList(tools);
  if (known !== undefined) return known;
  const unmarked = (value: object) =>
    Object.fromEntries(Object.entries(value).filter(([key]) => key !== "cache_control"));
  const plain = tools.map((tool) => ({ ...unmarked(tool), function: unmarked(tool.function) }));
  const { value, isChanged } = prepared(preparation, (watched) => templateValue(plain, watched));
  if (!isChanged) preparation.unchanged?.keepToolList(tools, value);
  return value;
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

function templateMessage(message: ChatMessage, form: TemplateForm, preparation: Preparation): TemplateMessage {
  const { mark } = preparation;
  const { text, reasoning } = visibleAndReasoning(message, form);
  const thought = reasoning !== null && !form.reasoning ? joinReasoning(mark(reasoning), "") : "";
  const content = thought + mark(text);
  const out: TemplateMessage = {
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
