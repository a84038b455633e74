import { FormatError } from "../core/errors.ts";
import type { ChatMessage, ContentPart } from "../schema/chat.ts";

/**
 * The text of a message: a string, or its text parts with a newline between them; "" for none.
 * @throws FormatError "unsupported_content" for a part without text, such as an image
 */
export function messageText(message: ChatMessage): string {
  const { content } = message;
  if (content === null || content === undefined) return "";
  if (typeof content === "string") return content;
  return content.map((part) => partText(part, message.role)).join("\n");
}

function partText(part: ContentPart, role: string): string {
  const text = part.text ?? part.refusal;
  if (typeof text === "string") return text;
  throw new FormatError(
    "unsupported_content",
    `A ${role} message has a part of type "${part.type}", which has no text.`,
    {
      do: "Send text only; the model reads nothing else.",
      data: { role, type: part.type },
    },
  );
}
