/** OpenAI Responses: an ended response as the events of a stream. */
import type { JsonObject } from "./dialect.ts";

/** An event before it is numbered. */
type Event = JsonObject & { type: string };

type Place = { item_id: unknown; output_index: number };

function messageEvents({ content }: JsonObject, place: Place): Event[] {
  const parts = (Array.isArray(content) ? content : []) as JsonObject[];
  return parts.flatMap((part, index) => {
    const { text, logprobs = [] } = part;
    const where = { ...place, content_index: index };
    return [
      { type: "response.content_part.added", ...where, part: { ...part, text: "", logprobs: [] } },
      ...(text === "" ? [] : [{ type: "response.output_text.delta", ...where, delta: text, logprobs }]),
      { type: "response.output_text.done", ...where, text, logprobs },
      { type: "response.content_part.done", ...where, part },
    ];
  });
}

function reasoningEvents({ summary }: JsonObject, place: Place): Event[] {
  const parts = (Array.isArray(summary) ? summary : []) as JsonObject[];
  return parts.flatMap((part, index) => {
    const { text } = part;
    const where = { ...place, summary_index: index };
    return [
      { type: "response.reasoning_summary_part.added", ...where, part: { ...part, text: "" } },
      ...(text === "" ? [] : [{ type: "response.reasoning_summary_text.delta", ...where, delta: text }]),
      { type: "response.reasoning_summary_text.done", ...where, text },
      { type: "response.reasoning_summary_part.done", ...where, part },
    ];
  });
}

function callEvents({ name, arguments: text }: JsonObject, place: Place): Event[] {
  return [
    ...(text === "" ? [] : [{ type: "response.function_call_arguments.delta", ...place, delta: text }]),
    { type: "response.function_call_arguments.done", ...place, name, arguments: text },
  ];
}

/** The item as it is before its first token, and the events that fill it. */
function opened(item: JsonObject, place: Place): { item: JsonObject; events: Event[] } {
  if (item.type === "message") {
    return { item: { ...item, status: "in_progress", content: [] }, events: messageEvents(item, place) };
  }
  if (item.type === "reasoning") return { item: { ...item, summary: [] }, events: reasoningEvents(item, place) };
  return { item: { ...item, status: "in_progress", arguments: "" }, events: callEvents(item, place) };
}

function itemEvents(item: JsonObject, index: number): Event[] {
  const { item: empty, events } = opened(item, { item_id: item.id, output_index: index });
  return [
    { type: "response.output_item.added", output_index: index, item: empty },
    ...events,
    { type: "response.output_item.done", output_index: index, item },
  ];
}

/**
 * The events of a stream that says what a `response` says; the last one holds it whole. The blank line that completes
 * it is a part of its own, so that whoever took that part has taken all of a long response.
 */
export function streamResponse(json: JsonObject): string[] {
  const items = (Array.isArray(json.output) ? json.output : []) as JsonObject[];
  const response = { ...json, status: "in_progress", incomplete_details: null, output: [], usage: null };
  const events: Event[] = [
    { type: "response.created", response },
    { type: "response.in_progress", response },
    ...items.flatMap(itemEvents),
    { type: `response.${json.status}`, response: json },
  ];
  const lines = events.map(
    (event, at) => `event: ${event.type}\ndata: ${JSON.stringify({ ...event, sequence_number: at })}\n`,
  );
  return [...lines.map((line, at) => (at === lines.length - 1 ? line : `${line}\n`)), "\n"];
}
