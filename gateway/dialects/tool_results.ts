/** Results of tools, as the model reads them. */
import type { ChatMessage, ContentPart } from "../../src/schema/chat.ts";

/** A tool failed, and its text need not say so. */
export function failedText(text: string): string {
  return /^\s*\W*(error|exception|fail)/i.test(text) ? text : `Error: ${text}`;
}

/** The same of a content of parts, of which the first with a text says it. */
export function failedContent(content: string | readonly ContentPart[]): string | ContentPart[] {
  if (typeof content === "string") return failedText(content);
  const at = content.findIndex(({ text }) => typeof text === "string");
  if (at < 0) return [{ type: "text", text: failedText("") }, ...content];
  return content.map((part, index) => (index === at ? { ...part, text: failedText(part.text ?? "") } : part));
}

function readable(part: ContentPart): ContentPart {
  if (typeof (part.text ?? part.refusal) === "string") return part;
  return { type: "text", text: `[${part.type} left out: this model reads text only]` };
}

/**
 * The messages with a note wherever a tool gave something that is no text. The model chose to look at it, and a refusal
 * would end its harness; what people send is refused, since the question may be about it.
 */
export function withReadableResults(messages: readonly ChatMessage[]): readonly ChatMessage[] {
  const isWhole = ({ role, content }: ChatMessage) =>
    role !== "tool" || !Array.isArray(content) || content.every((part) => readable(part) === part);
  if (messages.every(isWhole)) return messages;
  return messages.map((message) =>
    isWhole(message) ? message : { ...message, content: (message.content as ContentPart[]).map(readable) },
  );
}
