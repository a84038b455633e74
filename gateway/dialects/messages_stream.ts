/** Anthropic Messages: a finished message as the events of a stream. */
import type { JsonObject } from "./dialect.ts";

/** A block as it stands before its deltas, and the deltas. */
function opened(block: JsonObject): { start: JsonObject; deltas: JsonObject[] } {
  switch (block.type) {
    case "thinking": {
      const { thinking, signature } = block;
      return {
        start: { ...block, thinking: "", signature: "" },
        deltas: [
          { type: "thinking_delta", thinking },
          { type: "signature_delta", signature },
        ],
      };
    }
    case "tool_use": {
      const { partial_json: sampled, ...call } = block;
      const json = typeof sampled === "string" ? sampled : JSON.stringify(block.input);
      return { start: { ...call, input: {} }, deltas: [{ type: "input_json_delta", partial_json: json }] };
    }
    default:
      return { start: { ...block, text: "" }, deltas: [{ type: "text_delta", text: block.text }] };
  }
}

function blockEvents(block: JsonObject, index: number): JsonObject[] {
  const { start, deltas } = opened(block);
  return [
    { type: "content_block_start", index, content_block: start },
    ...deltas.map((delta) => ({ type: "content_block_delta", index, delta })),
    { type: "content_block_stop", index },
  ];
}

/** The events of a stream that says what a `message` says, `message_stop` included. */
export function streamMessage(json: JsonObject): string[] {
  const { content, stop_reason: reason, stop_sequence: sequence, usage, ...message } = json;
  const blocks = Array.isArray(content) ? (content as JsonObject[]) : [];
  const before = { ...(usage as JsonObject | undefined), output_tokens: 0 };
  const events: JsonObject[] = [
    {
      type: "message_start",
      message: { ...message, content: [], stop_reason: null, stop_sequence: null, usage: before },
    },
    ...blocks.flatMap(blockEvents),
    { type: "message_delta", delta: { stop_reason: reason, stop_sequence: sequence }, usage },
    { type: "message_stop" },
  ];
  return events.map((event) => `event: ${String(event.type)}\ndata: ${JSON.stringify(event)}\n\n`);
}
