import type { JSX } from "hono/jsx/dom/jsx-runtime";
import type { ChatMessage } from "../../../src/schema/chat.ts";

/** A message's text; parts that are no text as their JSON. */
export function contentText({ content }: ChatMessage): string {
  if (content === null || content === undefined) return "";
  if (typeof content === "string") return content;
  return content.map((part) => part.text ?? part.refusal ?? JSON.stringify(part)).join("\n");
}

/** One message of a conversation. */
export function Message({ message }: { message: ChatMessage }): JSX.Element {
  const thought = message.reasoning_content ?? "";
  return (
    <div class={`st-message st-message-${message.role}`}>
      <b>{message.role}</b>
      {thought === "" ? null : <pre class="st-thought">{thought}</pre>}
      <pre>{contentText(message)}</pre>
      {(message.tool_calls ?? []).map((made, i) => (
        <pre key={`${i}`} class="st-tool-call">
          {`${made.function.name}(${made.function.arguments})`}
        </pre>
      ))}
    </div>
  );
}
