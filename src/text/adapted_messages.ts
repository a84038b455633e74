import type { ChatMessage, ChatRequest, ToolDefinition } from "../schema/chat.ts";
import { messageText } from "./message_text.ts";
import type { TemplateCapabilities } from "./template_form.ts";
import type { ToolCallFormat } from "./tool_call_format.ts";

/**
 * A request as a template can write it whole: where the template knows no tools, they are described in the system text
 * and calls and results are told in words; where it takes one call a turn, several become turns of their own, each with
 * its results; where it knows no system text, that opens the first turn of the user; where it wants turns to alternate,
 * neighbours of one role are one message. Nothing is left out, and a longer conversation is adapted to the same
 * beginning.
 */
export function adaptMessages(
  request: ChatRequest,
  capabilities: TemplateCapabilities,
  format: ToolCallFormat,
): ChatRequest {
  const { tools, ...rest } = request;
  let { messages } = request;
  if (capabilities.toolCalls && !capabilities.severalCalls) messages = oneCallATurn(messages);
  if (!capabilities.toolResults) messages = spellResults(messages);
  if (!capabilities.toolCalls) messages = spellCalls(messages, format);
  const tell = tools?.length && !capabilities.tools;
  if (tell) messages = described(messages, tools, format);
  if (!capabilities.system) messages = systemAsUser(messages);
  if (capabilities.alternating) messages = alternate(messages);
  return tell ? { ...rest, messages } : { ...request, messages };
}

function oneCallATurn(messages: readonly ChatMessage[]): ChatMessage[] {
  const out: ChatMessage[] = [];
  let at = 0;
  while (at < messages.length) {
    const message = messages[at++] as ChatMessage;
    const calls = message.tool_calls ?? [];
    if (calls.length < 2) {
      out.push(message);
      continue;
    }
    const start = at;
    while (messages[at]?.role === "tool") at++;
    const results = messages.slice(start, at);
    const answers = (call: { id: string }) => results.filter((result) => result.tool_call_id === call.id);
    for (const [i, call] of calls.entries()) {
      out.push({ ...message, content: i === 0 ? message.content : "", tool_calls: [call] }, ...answers(call));
    }
    // A result of no call here is still one that the harness sent.
    out.push(...results.filter((result) => !calls.some((call) => call.id === result.tool_call_id)));
  }
  return out;
}

function spellResults(messages: readonly ChatMessage[]): ChatMessage[] {
  const names = new Map<string, string>();
  return messages.map((message) => {
    for (const call of message.tool_calls ?? []) names.set(call.id, call.function.name);
    if (message.role !== "tool") return message;
    const name = message.name ?? names.get(message.tool_call_id ?? "");
    return { role: "user", content: `Observation${name ? ` of ${name}` : ""}: ${messageText(message)}` };
  });
}

function spellCalls(messages: readonly ChatMessage[], format: ToolCallFormat): ChatMessage[] {
  return messages.map((message) => {
    if (!message.tool_calls?.length) return message;
    const { tool_calls: calls, ...rest } = message;
    return { ...rest, content: messageText(message) + format.write(calls.map((call) => call.function)) };
  });
}

/** The messages with the tools at the end of the system text that opens them. */
function described(
  messages: readonly ChatMessage[],
  tools: readonly ToolDefinition[],
  format: ToolCallFormat,
): ChatMessage[] {
  const lines = tools.map((tool) => JSON.stringify(tool.function));
  const example = format.write([{ name: "NAME", arguments: "{...}" }]).trim();
  const text = `You can call these functions:\n${lines.join("\n")}\n\nTo call one, write\n${example}\nand wait for what it answers.`;
  const [first, ...others] = messages;
  if (first && isSystem(first)) return [{ ...first, content: `${messageText(first)}\n\n${text}` }, ...others];
  return [{ role: "system", content: text }, ...messages];
}

function systemAsUser(messages: readonly ChatMessage[]): ChatMessage[] {
  const count = messages.findIndex((message) => !isSystem(message));
  const [system, rest] = count < 0 ? [messages, []] : [messages.slice(0, count), messages.slice(count)];
  if (system.length === 0) return [...messages];
  const text = system.map(messageText).join("\n\n");
  const [first, ...others] = rest;
  if (first?.role !== "user") return [{ role: "user", content: text }, ...rest];
  return [{ ...first, content: `${text}\n\n${messageText(first)}` }, ...others];
}

function alternate(messages: readonly ChatMessage[]): ChatMessage[] {
  const merged: ChatMessage[] = [];
  for (const message of messages) {
    const last = merged.at(-1);
    const mergeable = last?.role === message.role && message.role !== "tool";
    if (!last || !mergeable || last.tool_calls?.length || message.tool_calls?.length) merged.push(message);
    else merged[merged.length - 1] = { ...last, content: `${messageText(last)}\n\n${messageText(message)}` };
  }
  return merged;
}

function isSystem({ role }: ChatMessage): boolean {
  return role === "system" || role === "developer";
}
